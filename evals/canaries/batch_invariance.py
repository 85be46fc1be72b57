"""Whether an answer depends on what else is in the batch, on the order, or on what the prefix cache holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rapidfuzz.distance import Levenshtein
from tliveomni_eval.evals.canaries.canary_result import CanaryResult

LIMIT = 0.25
"""Largest mean normalised edit distance (0..1) between the answers of two arms. Sums in another order may turn one
token and with it the rest of an answer; that happens to a few samples of a hundred, and is noise that the gate may be
told (`--noise`). Answers that are exchanged or mixed lie at 0.5 and more."""


def judge_batch_invariance(arms: Mapping[str, Sequence[tuple[str, str]]]) -> CanaryResult:
    """Compare what was answered again with what the run answered.

    Args:
        arms: Name of an arm (`alone, prefix cache cold`, …) to pairs of an answer of the run and the answer there, as
            far as both go.
    """
    figures: dict[str, float] = {"limit": LIMIT}
    said, too_far = [], []
    for arm, pairs in arms.items():
        if not pairs:
            continue
        distances = [Levenshtein.normalized_distance(answer, again) for answer, again in pairs]
        differing = sum(distance > 0 for distance in distances)
        mean = sum(distances) / len(distances)
        figures |= {f"{arm}: sentinels": len(distances), f"{arm}: differing": differing, f"{arm}: mean distance": mean}
        said.append(f"{arm}: {differing} of {len(distances)} answers differ (mean edit distance {mean:.3f})")
        if mean > LIMIT:
            too_far.append(arm)
    if not said:
        return CanaryResult(
            name="batch-invariance", status="not_applicable", summary="no sample to ask again", figures=figures
        )
    summary = "; ".join(said)
    if too_far:
        summary += (
            f"; a mean above {LIMIT} is no noise: the engine mixes requests, or its prefix cache returns what belongs "
            'to another prompt. Try engine_args={"enable_prefix_caching": false} and max_num_seqs=1 to see which'
        )
    return CanaryResult(name="batch-invariance", status="fail" if too_far else "pass", summary=summary, figures=figures)
