"""What one canary found, as `run.json`, the gate and the page hold it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

CanaryStatus = Literal["pass", "fail", "not_applicable"]
"""`not_applicable`: there is nothing to look at (a checkpoint that takes no audio, too few samples); the summary says
what. It stands against no run."""

CANARY_NAMES = (
    "modality-image",
    "modality-audio",
    "modality-video",
    "batch-invariance",
    "prompt-fidelity",
    "generation-config",
)
"""Every canary, in the order they are reported; the words that follow `--allow canary:`."""


class CanaryResult(BaseModel):
    """One canary.

    Attributes:
        name: One of `CANARY_NAMES`.
        status: See `CanaryStatus`.
        summary: What was found, in one sentence for the user; for a failure also what to do.
        figures: The numbers behind it: counts, shares in 0..1, limits.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    status: CanaryStatus
    summary: str
    figures: dict[str, float] = Field(default_factory=dict)


def failures(results: Iterable[CanaryResult]) -> list[CanaryResult]:
    """The canaries that failed."""
    return [result for result in results if result.status == "fail"]
