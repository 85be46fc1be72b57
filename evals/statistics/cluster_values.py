"""The sums of a slice as one value a cluster: what every test and interval here is computed from.

A slice's qualities are means over its clusters, Q_b = mean(x) and Q_c = mean(y), and "the loss equals θ" is the
statement that a third mean is zero:

    d(θ) = (1 + αθ)·x − y − βθ·s        mean(s) = 1
    relative loss        α = −1, β = 0        (1 − θ)·Q_b = Q_c
    absolute loss        α = 0,  β = 1        Q_b − θ = Q_c
    relative error       α = 1,  β = 1        (1 + θ)·(1 − Q_b) = 1 − Q_c

For a ratio of sums x, y are the cluster's numerators over the mean denominator (linearised where the two runs have
different denominators) and s its relative size; for a set metric they are jackknife values and s = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from tliveomni_eval.evals.statistics.comparison import LossKind
from tliveomni_eval.evals.statistics.paired_slices import FloatArray, IndexArray, PairedSums

COEFFICIENTS: dict[LossKind, tuple[float, float]] = {
    "relative": (-1.0, 0.0),
    "absolute": (0.0, 1.0),
    "relative_error": (1.0, 1.0),
}
"""α and β of each kind of loss."""

SMALLEST_DIVISOR = 1e-12
"""Below this a quality or an error is rounding noise, and a loss relative to it undefined."""

_SAME = 1e-9
_POOL_ABOVE = 512
_BINS_A_DEVIATION = 32


@dataclass(frozen=True, eq=False)
class ClusterValues:
    """One slice as values of its clusters; equal or nearly equal clusters may share a row.

    Attributes:
        baseline: x, shape (rows,); its mean over the clusters is the baseline's quality.
        candidate: y, shape (rows,); its mean is the candidate's quality.
        size: s ≥ 0, shape (rows,), mean 1: the cluster's share of the slice.
        multiplicity: Clusters in each row, > 0, shape (rows,); None where every row is one cluster.
        label: Index of each row's cluster in the whole run, shape (rows,); None for pooled rows.
    """

    baseline: FloatArray
    candidate: FloatArray
    size: FloatArray
    multiplicity: FloatArray | None = None
    label: IndexArray | None = None

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.baseline.size if self.multiplicity is None else round(float(self.multiplicity.sum()))

    @property
    def quality(self) -> tuple[float, float]:
        """Quality of the baseline and of the candidate."""
        return self.mean(self.baseline), self.mean(self.candidate)

    def mean(self, values: FloatArray) -> float:
        """Mean over the clusters of a value a row."""
        if self.multiplicity is None:
            return float(values.mean())
        return float((self.multiplicity * values).sum() / self.multiplicity.sum())

    def spread(self, values: FloatArray) -> float:
        """Standard deviation over the clusters (divisor n) of a value a row."""
        return math.sqrt(self.mean((values - self.mean(values)) ** 2))

    @cached_property
    def change(self) -> FloatArray:
        """Baseline minus candidate, one a row; rounding noise is 0."""
        difference = self.baseline - self.candidate
        noise = np.abs(difference) <= _SAME * np.abs(self.baseline)
        difference[noise] = 0.0
        return difference

    @cached_property
    def right_or_wrong(self) -> bool:
        """Whether every cluster has size 1 and is fully right (1) or wrong (0) in both runs."""
        return bool(np.all(self.size == 1)) and all(
            bool(np.all((values == 0) | (values == 1))) for values in (self.baseline, self.candidate)
        )

    def pooled(self, loss: float, kind: LossKind) -> ClusterValues:
        """The same slice in few rows, for tests of losses near `loss`.

        Right-or-wrong clusters have four kinds of rows, which is exact. Otherwise clusters with nearly the same
        d(θ) share a row at their mean: the bins are 1/32 of a standard deviation wide, and beyond one standard
        deviation 1/32 of the value, which leaves means exact and changes variances by less than one in 10⁴.
        """
        if self.multiplicity is not None:
            return self
        if self.right_or_wrong:
            key = (2 * self.baseline + self.candidate).astype(np.intp)
        elif self.baseline.size <= _POOL_ABOVE:
            return self
        else:
            alpha, beta = COEFFICIENTS[kind]
            values = (1 + alpha * loss) * self.baseline - self.candidate - beta * loss * self.size
            width = self.spread(values) or 1.0
            key = np.rint(_BINS_A_DEVIATION * np.arcsinh(values / width)).astype(np.intp)
            key -= key.min()
        clusters = np.bincount(key).astype(np.float64)
        rows = np.flatnonzero(clusters)
        count = clusters[rows]
        x, y, s = (
            np.bincount(key, weights=array)[rows] / count for array in (self.baseline, self.candidate, self.size)
        )
        return ClusterValues(x, y, s, count)


def loss_of(quality_baseline: float, quality_candidate: float, kind: LossKind) -> float:
    """The loss of one quality against another; NaN where the baseline's quality (or its error) is not above 0.

    >>> round(loss_of(0.8, 0.784, "relative"), 6), round(loss_of(0.8, 0.784, "absolute"), 6)
    (0.02, 0.016)
    >>> round(loss_of(0.8, 0.784, "relative_error"), 6)
    0.08
    """
    difference = quality_baseline - quality_candidate
    if kind == "absolute":
        return difference
    divisor = quality_baseline if kind == "relative" else 1 - quality_baseline
    return difference / divisor if divisor > SMALLEST_DIVISOR else float("nan")


def cluster_values(paired: PairedSums, members: IndexArray) -> ClusterValues:
    """The cluster values of a slice of a ratio or all-correct metric; no clusters where nothing was counted."""
    local, label = _local_index(paired.cluster[members])
    counts = (paired.num_baseline, paired.den_baseline, paired.num_candidate, paired.den_candidate)
    if local is None:
        num_b, den_b, num_c, den_c = (array[members] for array in counts)
    else:
        num_b, den_b, num_c, den_c = (
            np.asarray(np.bincount(local, weights=array[members], minlength=label.size), dtype=np.float64)
            for array in counts
        )
    counted = (den_b > 0) | (den_c > 0)
    if not counted.all():
        num_b, den_b, num_c, den_c = (array[counted] for array in (num_b, den_b, num_c, den_c))
        label = label[counted]
    error = paired.kind == "error"
    if paired.statistic == "all_correct":
        num_b, num_c = (_all_correct(num, den, error=error) for num, den in ((num_b, den_b), (num_c, den_c)))
        den_b = den_c = np.ones_like(num_b)
        error = False
    if not den_b.sum() > 0 or not den_c.sum() > 0:
        empty = np.empty(0)
        return ClusterValues(empty, empty, empty, label=np.empty(0, dtype=np.intp))
    return _linearised(num_b, den_b, num_c, den_c, label, error=error)


def _all_correct(num: FloatArray, den: FloatArray, *, error: bool) -> FloatArray:
    """1 where nothing of the cluster is wrong, else 0."""
    right = den - num if error else num
    return (right >= den * (1 - _SAME)).astype(np.float64)


def _linearised(
    num_b: FloatArray, den_b: FloatArray, num_c: FloatArray, den_c: FloatArray, label: IndexArray, *, error: bool
) -> ClusterValues:
    if error:
        num_b, num_c = den_b - num_b, den_c - num_c
    mean_b, mean_c = float(den_b.mean()), float(den_c.mean())
    if np.array_equal(den_b, den_c):
        return ClusterValues(num_b / mean_b, num_c / mean_b, den_b / mean_b, label=label)
    size = (den_b / mean_b + den_c / mean_c) / 2
    quality_b, quality_c = float(num_b.sum() / den_b.sum()), float(num_c.sum() / den_c.sum())
    return ClusterValues(
        (num_b - quality_b * den_b) / mean_b + quality_b * size,
        (num_c - quality_c * den_c) / mean_c + quality_c * size,
        size,
        label=label,
    )


def _local_index(cluster: IndexArray) -> tuple[IndexArray | None, IndexArray]:
    """The clusters of a slice as 0..k−1, and their labels; None where every sample is its own cluster."""
    if cluster.size == 0:
        return None, cluster
    first, last = int(cluster.min()), int(cluster.max())
    present = np.bincount(cluster - first, minlength=last - first + 1)
    if present.max() == 1:
        return None, cluster
    position = np.cumsum(present > 0) - 1
    return position[cluster - first], np.flatnonzero(present) + first
