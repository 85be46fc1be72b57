"""The comparison of two runs on many slices: loss, interval, tests and the number of clusters still needed."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from tliveomni_eval.evals.statistics.cluster_values import ClusterValues, loss_of, ratio_cluster_values
from tliveomni_eval.evals.statistics.comparison import LossKind, SliceComparison, interval_verdict
from tliveomni_eval.evals.statistics.exact_tests import mcnemar_exact
from tliveomni_eval.evals.statistics.loss_interval import (
    further_clusters,
    loss_interval,
    minimum_clusters,
    test_statistics,
)
from tliveomni_eval.evals.statistics.paired_slices import IndexArray, PairedSums

_NORMAL = NormalDist()
_METHODS = {True: "score (Tango; Nam and Blackwelder)", False: "tilted score"}


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
        replicates: Bootstrap replicates of the cross-check.
        seed: Seed of the bootstrap; the same input and seed give the same result.

    Raises:
        ValueError: `confidence` or `budget` out of range.
    """
    if not 0.5 < confidence < 1:
        raise ValueError(f"confidence must be above 0.5 and below 1, got {confidence!r}")
    if not (math.isfinite(budget) and budget >= 0):
        raise ValueError(f"budget must be finite and at least 0, got {budget!r}")
    compared = []
    for name, members in paired.slices.items():
        values = ratio_cluster_values(paired, members)
        compared.append(_compare(name, paired, members, values, budget, loss_kind, confidence))
    return compared


def _compare(
    name: str,
    paired: PairedSums,
    members: IndexArray,
    values: ClusterValues,
    budget: float,
    kind: LossKind,
    confidence: float,
) -> SliceComparison:
    samples_worsened, samples_improved = _sample_flips(paired, members)
    common = {
        "slice": name,
        "n_samples": int(members.size),
        "n_clusters": values.n_clusters,
        "confidence": confidence,
        "budget": budget,
        "loss_kind": kind,
        "samples_worsened": samples_worsened,
        "samples_improved": samples_improved,
    }
    if not values.n_clusters:
        return _undefined(common, math.nan, math.nan, "nothing was counted: no sample has a denominator above 0")
    baseline, candidate = values.quality
    loss = loss_of(baseline, candidate, kind)
    if math.isnan(loss):
        what = "quality" if kind == "relative" else "error"
        return _undefined(
            common, baseline, candidate, f"the baseline's {what} is not above 0, so no {kind} loss exists"
        )
    low, high = loss_interval(values, kind, confidence)
    at_budget = test_statistics(values, budget, kind)
    change = values.change
    worsened, improved = int((change > 0).sum()), int((change < 0).sum())
    two_sided, degradation = mcnemar_exact(worsened, improved)
    spread = float(change.std(ddof=1)) if values.n_clusters > 1 else 0.0
    needed = minimum_clusters(values, budget, kind, confidence)
    certifiable = needed is not None and values.n_clusters >= needed
    decided = interval_verdict(low, high, budget) != "INCONCLUSIVE"
    return SliceComparison(
        **common,  # type: ignore[arg-type]
        quality_baseline=baseline,
        quality_candidate=candidate,
        loss=loss,
        low=low,
        high=high,
        method=_METHODS[values.right_or_wrong],
        p_noninferiority=_NORMAL.cdf(at_budget.against_pass),
        p_breach=_NORMAL.cdf(-at_budget.against_breach),
        worsened=worsened,
        improved=improved,
        mcnemar_p=two_sided,
        mcnemar_p_degradation=degradation,
        effect_size=(worsened - improved) / (worsened + improved) if worsened + improved else 0.0,
        standardised_loss=float(change.mean()) / spread if spread > 0 else 0.0,
        further_clusters=0 if decided else further_clusters(values, budget, kind, confidence),
        certifiable=certifiable,
        minimum_clusters=needed,
        reason="" if certifiable else _too_few(values.n_clusters, needed),
    )


def _too_few(clusters: int, needed: int | None) -> str:
    if needed is None:
        return f"no number of clusters like these {clusters} could PASS this budget"
    return f"{clusters} clusters cannot PASS this budget: at least {needed} are needed, even if none of them changes"


def _undefined(common: dict[str, object], baseline: float, candidate: float, reason: str) -> SliceComparison:
    return SliceComparison(
        **common,  # type: ignore[arg-type]
        quality_baseline=baseline,
        quality_candidate=candidate,
        loss=math.nan,
        low=math.nan,
        high=math.nan,
        method="none",
        p_noninferiority=1.0,
        p_breach=1.0,
        worsened=0,
        improved=0,
        mcnemar_p=1.0,
        mcnemar_p_degradation=1.0,
        effect_size=0.0,
        standardised_loss=0.0,
        further_clusters=None,
        certifiable=False,
        minimum_clusters=None,
        reason=reason,
    )


def _sample_flips(paired: PairedSums, members: IndexArray) -> tuple[int, int]:
    """Samples whose rate got worse, and samples whose rate got better."""
    num_b, den_b = paired.num_baseline[members], paired.den_baseline[members]
    num_c, den_c = paired.num_candidate[members], paired.den_candidate[members]
    difference = num_b * den_c - num_c * den_b
    difference[np.abs(difference) <= 1e-9 * np.maximum(np.abs(num_b * den_c), np.abs(num_c * den_b))] = 0.0
    fell, rose = int((difference > 0).sum()), int((difference < 0).sum())
    return (rose, fell) if paired.kind == "error" else (fell, rose)
