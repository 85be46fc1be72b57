"""The comparison of two runs on many slices: loss, interval, tests and the number of clusters still needed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.statistics.bootstrap import bootstrap_losses, percentile_intervals
from tliveomni_eval.evals.statistics.cluster_numbers import clusters_to_decide, minimum_clusters
from tliveomni_eval.evals.statistics.cluster_values import ClusterValues, cluster_values, loss_of
from tliveomni_eval.evals.statistics.comparison import LossKind, SliceComparison
from tliveomni_eval.evals.statistics.exact_tests import mcnemar_exact
from tliveomni_eval.evals.statistics.loss_interval import ClaimScores, claim_scores, loss_interval, unseen_loss
from tliveomni_eval.evals.statistics.paired_slices import FloatArray, IndexArray, PairedSums, SetMetricPair
from tliveomni_eval.evals.statistics.set_metric_values import set_metric_cluster_values
from tliveomni_eval.evals.statistics.slice_stack import SliceStack

SCORE = "score (Tango; Nam and Blackwelder)"
TILTED_SCORE = "tilted score"

_NORMAL = NormalDist()
_SLICES_AT_ONCE = 64
_SET_METRIC_CHANGE = 0.01


def compare_slices(
    paired: PairedSums,
    *,
    budget: float = 0.015,
    loss_kind: LossKind = "relative",
    confidence: float = 0.95,
    replicates: int = 10_000,
    seed: int = 0,
) -> list[SliceComparison]:
    """Compare baseline and candidate on every slice of `paired`, in its order.

    Args:
        paired: Counts, clusters and slices of the two runs.
        budget: Largest loss allowed, on the scale of `loss_kind`.
        loss_kind: See `LossKind`.
        confidence: Level of the two-sided intervals, above 0.5 and below 1.
        replicates: Bootstrap replicates of the cross-check; 0 leaves it out.
        seed: Seed of the bootstrap; the same input and seed give the same result.

    Raises:
        ValueError: `confidence` or `budget` out of range.
    """
    if not 0.5 < confidence < 1:
        raise ValueError(f"confidence must be above 0.5 and below 1, got {confidence!r}")
    if not (math.isfinite(budget) and budget >= 0):
        raise ValueError(f"budget must be finite and at least 0, got {budget!r}")
    set_metric = isinstance(paired.statistic, SetMetricPair)
    of_slice = set_metric_cluster_values if set_metric else cluster_values
    direction = _sample_direction(paired)
    n_clusters = int(paired.cluster.max(initial=-1)) + 1
    compared: list[SliceComparison] = []
    for batch in _batches(list(paired.slices.items())):
        values = [of_slice(paired, members) for _, members in batch]
        claims = _claims(values, budget, loss_kind, confidence)
        bootstrap = _bootstrap(values, n_clusters, loss_kind, confidence, replicates, seed)
        for (name, members), slice_values, claim, (low, high) in zip(batch, values, claims, bootstrap, strict=True):
            compared.append(
                SliceComparison(
                    slice=name,
                    n_samples=int(members.size),
                    bootstrap_low=float(low),
                    bootstrap_high=float(high),
                    confidence=confidence,
                    budget=budget,
                    loss_kind=loss_kind,
                    **_flips(direction[members], slice_values, _SET_METRIC_CHANGE if set_metric else 0.0),
                    **claim,
                )
            )
    return compared


def _bootstrap(
    slices: list[ClusterValues], n_clusters: int, kind: LossKind, confidence: float, replicates: int, seed: int
) -> FloatArray:
    if replicates < 1 or not n_clusters:
        return np.full((len(slices), 2), np.nan)
    return percentile_intervals(bootstrap_losses(slices, n_clusters, kind, replicates, seed), confidence)


def _batches(slices: list[tuple[str, IndexArray]]) -> Iterator[list[tuple[str, IndexArray]]]:
    for start in range(0, len(slices), _SLICES_AT_ONCE):
        yield slices[start : start + _SLICES_AT_ONCE]


def _claims(slices: list[ClusterValues], budget: float, kind: LossKind, confidence: float) -> list[dict[str, Any]]:
    """The fields of `SliceComparison` that rest on the interval and the tests, one dict a slice."""
    defined = [index for index, values in enumerate(slices) if not _why_undefined(values, kind)]
    claims = [_undefined(values, _why_undefined(values, kind)) for values in slices]
    if not defined:
        return claims
    stack = SliceStack.of([slices[index].pooled(budget, kind) for index in defined])
    low, high = loss_interval(stack, kind, confidence)
    unseen = unseen_loss(stack, kind, confidence)
    high = np.where(unseen > budget, np.maximum(high, unseen), high)
    at_budget = claim_scores(stack, np.full(len(stack), budget), kind)
    low, high, p_pass, p_breach = _consistent(low, high, at_budget, budget, (1 - confidence) / 2)
    fewest = minimum_clusters(stack, budget, kind, confidence)
    undecided = (low <= budget) & (high > budget)
    total = clusters_to_decide(stack, budget, kind, confidence) if undecided.any() else stack.n_clusters
    total = np.where(stack.loss(kind) <= budget, np.maximum(total, fewest), total)
    for position, index in enumerate(defined):
        values = slices[index]
        baseline, candidate = values.quality
        certifiable = bool(values.n_clusters >= fewest[position])
        claims[index] = {
            "n_clusters": values.n_clusters,
            "quality_baseline": baseline,
            "quality_candidate": candidate,
            "loss": loss_of(baseline, candidate, kind),
            "low": float(low[position]),
            "high": float(high[position]),
            "method": SCORE if values.right_or_wrong else TILTED_SCORE,
            "p_noninferiority": float(p_pass[position]),
            "p_breach": float(p_breach[position]),
            "further_clusters": _further(values.n_clusters, float(total[position])) if undecided[position] else 0,
            "certifiable": certifiable,
            "minimum_clusters": int(fewest[position]) if math.isfinite(fewest[position]) else None,
            "reason": "" if certifiable else _too_few(values.n_clusters, float(fewest[position])),
        }
    return claims


def _consistent(
    low: FloatArray, high: FloatArray, at_budget: ClaimScores, budget: float, tail: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Interval ends and p values that claim the same; with two or three clusters the inversion may have gaps.

    Where only one of them makes a claim, neither does.
    """
    p_pass = np.array([_NORMAL.cdf(float(score)) for score in at_budget.below])
    p_breach = np.array([_NORMAL.cdf(-float(score)) for score in at_budget.above])
    margin = 1 + 1e-6
    only_interval = (high <= budget) & (p_pass > tail * margin), (low > budget) & (p_breach > tail * margin)
    high = np.where(only_interval[0], np.nextafter(budget, np.inf), high)
    low = np.where(only_interval[1], budget, low)
    return (
        low,
        high,
        np.where(high > budget, np.maximum(p_pass, tail * margin), p_pass),
        np.where(low <= budget, np.maximum(p_breach, tail * margin), p_breach),
    )


def _further(present: int, total: float) -> int | None:
    return max(1, round(total) - present) if math.isfinite(total) else None


def _too_few(clusters: int, needed: float) -> str:
    if not math.isfinite(needed):
        return f"no number of clusters like these {clusters} could PASS this budget"
    return f"{clusters} clusters cannot PASS this budget: at least {needed:.0f} are needed, even if none changes"


def _why_undefined(values: ClusterValues, kind: LossKind) -> str:
    if not values.n_clusters:
        return "nothing was counted: no sample has a denominator above 0"
    if math.isnan(loss_of(*values.quality, kind)):
        what = "quality" if kind == "relative" else "error"
        return f"the baseline's {what} is not above 0, so there is no {kind.replace('_', ' ')} loss"
    return ""


def _undefined(values: ClusterValues, reason: str) -> dict[str, Any]:
    baseline, candidate = values.quality if values.n_clusters else (math.nan, math.nan)
    return {
        "n_clusters": values.n_clusters,
        "quality_baseline": baseline,
        "quality_candidate": candidate,
        "loss": math.nan,
        "low": math.nan,
        "high": math.nan,
        "method": "none",
        "p_noninferiority": 1.0,
        "p_breach": 1.0,
        "further_clusters": None,
        "certifiable": False,
        "minimum_clusters": None,
        "reason": reason,
    }


def _flips(direction: NDArray[np.int8], values: ClusterValues, least: float) -> dict[str, Any]:
    """The fields of `SliceComparison` that count what changed by more than `least`, in clusters and in samples."""
    change = values.change
    worsened, improved = int((change > least).sum()), int((change < -least).sum())
    two_sided, degradation = mcnemar_exact(worsened, improved)
    spread = values.spread(change) if change.size else 0.0
    return {
        "worsened": worsened,
        "improved": improved,
        "samples_worsened": int((direction > 0).sum()),
        "samples_improved": int((direction < 0).sum()),
        "mcnemar_p": two_sided,
        "mcnemar_p_degradation": degradation,
        "effect_size": (worsened - improved) / (worsened + improved) if worsened + improved else 0.0,
        "standardised_loss": values.mean(change) / spread if spread > 0 else 0.0,
    }


def _sample_direction(paired: PairedSums) -> NDArray[np.int8]:
    """Per sample 1 where its rate got worse, −1 where it got better, 0 where it stayed."""
    before = paired.num_baseline * paired.den_candidate
    difference = before - paired.num_candidate * paired.den_baseline
    difference[np.abs(difference) <= 1e-9 * np.abs(before)] = 0.0
    direction = np.sign(difference).astype(np.int8)
    return -direction if paired.kind == "error" else direction
