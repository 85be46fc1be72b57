"""From model arguments to arguments of vLLM's engine: what the user set, and what this machine needs."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Literal

from tliveomni_eval.evals.errors import UserError, unknown_name_message
from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments

DeviceKind = Literal["cpu", "gpu"]

CPU_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_INT4_W4A8": "0",
}
"""Environment on a machine without an accelerator, where the user has not set it otherwise.

One process starts in seconds instead of minutes; 1 GiB of KV cache holds every request that a small model can answer at
a time on a CPU; and without the last line vLLM computes a W4A16 checkpoint with 8-bit activations where the CPU can,
which is not what its name says."""

CPU_DEFAULTS: dict[str, Any] = {"enforce_eager": True, "max_num_seqs": 64}
CPU_MAX_MODEL_LEN = 8192
MEDIA_LIMIT = {"image": 8, "video": 1, "audio": 1}


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What the engine is started with.

    Attributes:
        engine_args: Keyword arguments of `vllm.LLM`.
        chosen: The part of them, and of the environment, that the backend chose by itself.
    """

    engine_args: Mapping[str, Any]
    chosen: Mapping[str, Any]

    def summary(self) -> str:
        """One line for the log: what was chosen."""
        return ", ".join(f"{key}={value}" for key, value in self.chosen.items()) or "nothing beyond vLLM's defaults"


def prepare_environment(device: DeviceKind, environment: MutableMapping[str, str] = os.environ) -> dict[str, str]:
    """Set the environment variables vLLM reads at import, where the user has not set them.

    Args:
        device: Where the engine will run.
        environment: Environment to change.

    Returns:
        What was set.
    """
    if device == "gpu":
        return {}
    chosen = {key: value for key, value in CPU_ENVIRONMENT.items() if key not in environment}
    environment.update(chosen)
    return chosen


def cpu_dtype() -> str:
    """Type to compute in on this CPU: `bfloat16` where it multiplies that, else `float32`.

    A CPU with AVX2 alone emulates bfloat16 at about a tenth of its float32 speed. The weights stay what the checkpoint
    holds, and quantized layers stay quantized; the arithmetic of the others is then more exact than on a GPU.
    """
    import torch

    return "bfloat16" if torch.ops.mkldnn._is_mkldnn_bf16_supported() else "float32"


def resolve_engine_settings(
    arguments: ModelArguments,
    checkpoint: str,
    device: DeviceKind,
    checkpoint_max_len: int | None,
    media_kinds: frozenset[str],
    known_engine_args: frozenset[str],
    environment: Mapping[str, str],
) -> EngineSettings:
    """Merge what the user set with what this machine needs.

    Args:
        arguments: What the user set.
        checkpoint: Folder or hub name to load.
        device: Where the engine will run.
        checkpoint_max_len: Context the checkpoint was made for, in tokens; None where unknown.
        media_kinds: Kinds of media the checkpoint takes.
        known_engine_args: Names that vLLM's `EngineArgs` accepts.
        environment: Variables `prepare_environment` set.

    Raises:
        UserError: `engine_args` has a key vLLM does not know.
    """
    for key in arguments.engine_args:
        if key not in known_engine_args:
            raise UserError("--model_args: engine_args: " + unknown_name_message("key", key, sorted(known_engine_args)))
    chosen: dict[str, Any] = {
        "generation_config": "vllm",
        "limit_mm_per_prompt": {kind: MEDIA_LIMIT[kind] for kind in sorted(media_kinds)},
    }
    if device == "cpu":
        chosen |= CPU_DEFAULTS | {"dtype": cpu_dtype(), "skip_mm_profiling": True, "mm_processor_cache_gb": 0}
        if checkpoint_max_len is not None:
            chosen["max_model_len"] = min(checkpoint_max_len, CPU_MAX_MODEL_LEN)
    given = {
        "tensor_parallel_size": arguments.tensor_parallel_size,
        "gpu_memory_utilization": arguments.gpu_memory_utilization,
        "max_model_len": arguments.max_model_len,
        "max_num_seqs": arguments.max_num_seqs,
        "limit_mm_per_prompt": arguments.limit_mm_per_prompt and dict(arguments.limit_mm_per_prompt),
        "dtype": arguments.dtype,
        "enforce_eager": arguments.enforce_eager,
    }
    set_by_user = {key: value for key, value in given.items() if value is not None} | dict(arguments.engine_args)
    always = {"model": checkpoint, "seed": arguments.seed, "trust_remote_code": arguments.trust_remote_code}
    merged = always | chosen | set_by_user
    chosen_alone = {key: value for key, value in chosen.items() if key not in set_by_user}
    return EngineSettings(merged, chosen_alone | dict(environment))
