"""The comparison of two runs on many slices: loss, interval, tests and the number of clusters still needed."""

from __future__ import annotations

from tliveomni_eval.evals.statistics.comparison import LossKind, SliceComparison
from tliveomni_eval.evals.statistics.paired_slices import PairedSums


def compare_slices(
    paired: PairedSums,
    *,
    budget: float = 0.015,
    loss_kind: LossKind = "relative",
    confidence: float = 0.95,
    replicates: int = 10_000,
    seed: int = 0,
) -> list[SliceComparison]:
    """Compare baseline and candidate on every slice of `paired`, in its order."""
    raise NotImplementedError
