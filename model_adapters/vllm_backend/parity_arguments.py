"""`parity=…` in `--model_args`: the alignments of TLiveOmni with transformers, as arguments of the engine."""

from __future__ import annotations

from dataclasses import replace

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.tliveomni_vllm.parity_switches import engine_arguments, parse_parity
from tliveomni_eval.model_adapters.vllm_backend.engine_settings import EngineSettings

ARCHITECTURE = "TLiveOmniForConditionalGeneration"
"""The only one whose alignments can be switched; vLLM has the others of its own."""


def with_parity(settings: EngineSettings, parity: str, architecture: str) -> EngineSettings:
    """Settings that carry the alignments of the engine, so that `run.json` and the journal's key have them too.

    Args:
        settings: What the engine would be started with.
        parity: Switches, as `parse_parity` reads them; empty for all alignments.
        architecture: Of the checkpoint.

    Raises:
        UserError: A switch does not exist, or the checkpoint is no TLiveOmni.
    """
    if architecture != ARCHITECTURE:
        if parity:
            raise UserError(
                f"--model_args: parity={parity!r} has no effect on {architecture}: only TLiveOmni has these "
                "alignments; leave it out"
            )
        return settings
    arguments = engine_arguments(parse_parity(parity))
    overrides = {**settings.engine_args.get("hf_overrides", {}), **arguments["hf_overrides"]}
    return replace(settings, engine_args={**settings.engine_args, "hf_overrides": overrides})
