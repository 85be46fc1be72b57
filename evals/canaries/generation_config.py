"""Whether decoding is the task's: a checkpoint's `generation_config.json` must change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.canaries.canary_result import CanaryResult


def judge_generation_config(taken_over: Mapping[str, Any]) -> CanaryResult:
    """Decide.

    Args:
        taken_over: Sampling parameters that the engine took from the checkpoint as its defaults, name to value.
    """
    name = "generation-config"
    if not taken_over:
        return CanaryResult(name=name, status="pass", summary="the engine takes no default of the checkpoint")
    shown = ", ".join(f"{key}={value!r}" for key, value in sorted(taken_over.items()))
    return CanaryResult(
        name=name,
        status="fail",
        summary=(
            f"the engine took {shown} from the checkpoint's generation_config.json, so its answers are not decoded as "
            "the task says; leave generation_config out of engine_args"
        ),
        figures={"parameters": len(taken_over)},
    )
