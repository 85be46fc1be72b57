"""Whether answers depend on a medium: with another one in its place they must change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tliveomni_eval.evals.canaries.canary_result import CanaryResult

LIMIT_OPEN = 0.5
"""Most of the sentinels that may keep their answer where answers are of several tokens and few samples have them: the
text of a picture, a transcript and a list of boxes belong to their medium."""

LIMIT_CLOSED = 0.99
"""The same where answers are a word, a letter, or those of many samples, which two media often share: only no change at
all is a failure."""

FEWEST_OPEN = 3
FEWEST_CLOSED = 8
"""Sentinels below which nothing is said: four options agree by chance too often."""


@dataclass(frozen=True, slots=True)
class Swap:
    """One sentinel, asked again with another medium in place of its own.

    Attributes:
        sample: Task and document, for messages.
        answer: Answer of the run.
        swapped_answer: With the other medium; None where it was not asked because its prompt was the same.
        prompt_changed: Whether the prompt as the engine gets it differed, as it must where the files differ.
        tells: Whether the answer is one that belongs to its medium: several tokens, and few samples of the run have it.
    """

    sample: str
    answer: str
    swapped_answer: str | None
    prompt_changed: bool
    tells: bool

    @property
    def unchanged(self) -> bool:
        """Whether the answer stayed the same."""
        return (
            not self.prompt_changed or self.swapped_answer is None or self.answer.strip() == self.swapped_answer.strip()
        )


def judge_modality_use(kind: str, swaps: Sequence[Swap]) -> CanaryResult:
    """Decide on one kind of media.

    Args:
        kind: `image`, `audio` or `video`.
        swaps: The sentinels.
    """
    name = f"modality-{kind}"
    deaf = [swap for swap in swaps if not swap.prompt_changed]
    if deaf:
        return CanaryResult(
            name=name,
            status="fail",
            summary=(
                f"{len(deaf)} of {len(swaps)} prompts stayed the same when their {kind} was exchanged for another, "
                f"first {deaf[0].sample}: the {kind} does not reach the engine, or a cache does not look "
                "at its content"
            ),
            figures={"sentinels": len(swaps), "unchanged_prompts": len(deaf)},
        )
    unchanged = sum(swap.unchanged for swap in swaps)
    share = unchanged / len(swaps) if swaps else 0.0
    is_open = sum(swap.tells for swap in swaps) * 2 >= len(swaps)
    limit, fewest = (LIMIT_OPEN, FEWEST_OPEN) if is_open else (LIMIT_CLOSED, FEWEST_CLOSED)
    figures = {"sentinels": len(swaps), "unchanged_answers": unchanged, "unchanged_rate": share, "limit": limit}
    said = f"{unchanged} of {len(swaps)} answers stayed the same with another {kind}"
    if len(swaps) < fewest:
        return CanaryResult(
            name=name,
            status="not_applicable",
            summary=f"{said}; fewer than {fewest} samples tell nothing",
            figures=figures,
        )
    if share > limit:
        advice = (
            f"{said}, and more than {limit:.0%} is a failure: the model does not use its {kind}. Look at how the "
            "checkpoint was quantized (is its encoder whole?) and at what its processor is given"
        )
        return CanaryResult(name=name, status="fail", summary=advice, figures=figures)
    return CanaryResult(name=name, status="pass", summary=said, figures=figures)
