"""Paired sufficient statistics of two runs, for many overlapping slices at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

MetricKind = Literal["quality", "error"]
"""`quality`: Q = Σnum / Σden (accuracy, similarity). `error`: Q = 1 − Σnum / Σden (CER, DER)."""

RatioStatistic = Literal["ratio", "all_correct"]
"""`ratio`: sums over the clusters. `all_correct`: a cluster counts 1 where every sample of it is fully right
(num = den), else 0 (CircularEval over the rotations of one question, HallusionBench's question and figure accuracy)."""


class SetMetric(Protocol):
    """A metric of a set of samples that is no ratio of sums, such as average precision."""

    def weighted(self, weights: FloatArray) -> float:
        """The quality (higher is better, 0..1) when sample i counts `weights[i]` times; NaN where it is undefined.

        Args:
            weights: One weight ≥ 0 a sample, shape (n_samples,). A weight 0 leaves the sample out.
        """
        ...


@runtime_checkable
class SetMetricWithInfluence(SetMetric, Protocol):
    """A set metric that knows its derivative, which saves one evaluation a cluster."""

    def influence(self, weights: FloatArray) -> FloatArray:
        """The derivative of `weighted(weights)` in each weight, shape (n_samples,)."""
        ...


@dataclass(frozen=True)
class SetMetricPair:
    """The same set metric over the baseline's and the candidate's outputs, both indexed by the paired samples."""

    baseline: SetMetric
    candidate: SetMetric


@dataclass(frozen=True, eq=False)
class PairedSums:
    """The counts of two runs, sample by sample in the same order, with the clusters and the slices of the samples.

    Build it with `PairedSums.of`, which converts and checks.

    Attributes:
        num_baseline: Numerators of the baseline, shape (n_samples,).
        den_baseline: Denominators of the baseline, ≥ 0, shape (n_samples,).
        num_candidate: Numerators of the candidate, shape (n_samples,).
        den_candidate: Denominators of the candidate, ≥ 0, shape (n_samples,).
        cluster: Index 0.. of each sample's cluster, shape (n_samples,). Samples of one cluster are not independent.
        slices: Slice name to the indices of its samples; slices may overlap.
        kind: Whether num/den is a quality or an error rate.
        statistic: How samples make a slice's number; a `SetMetricPair` ignores the counts.
    """

    num_baseline: FloatArray
    den_baseline: FloatArray
    num_candidate: FloatArray
    den_candidate: FloatArray
    cluster: IndexArray
    slices: Mapping[str, IndexArray]
    kind: MetricKind = "quality"
    statistic: RatioStatistic | SetMetricPair = "ratio"

    @classmethod
    def of(
        cls,
        num_baseline: ArrayLike,
        den_baseline: ArrayLike,
        num_candidate: ArrayLike,
        den_candidate: ArrayLike,
        *,
        cluster: ArrayLike | None = None,
        slices: Mapping[str, ArrayLike] | None = None,
        kind: MetricKind = "quality",
        statistic: RatioStatistic | SetMetricPair = "ratio",
    ) -> PairedSums:
        """Checked construction.

        Args:
            num_baseline: One finite numerator a sample.
            den_baseline: One finite denominator ≥ 0 a sample.
            num_candidate: As `num_baseline`, the same samples in the same order.
            den_candidate: As `den_baseline`.
            cluster: Any integers that name each sample's cluster; omitted, every sample is its own cluster.
            slices: Slice name to sample indices; omitted, one slice `all` of every sample.
            kind: See `MetricKind`.
            statistic: See `RatioStatistic` and `SetMetricPair`.

        Raises:
            ValueError: Arrays of different length, values that are not finite, a negative denominator, or a slice
                with an index out of range or given twice. The message names the array or the slice and the position.
        """
        arrays = {
            "num_baseline": np.ascontiguousarray(num_baseline, dtype=np.float64),
            "den_baseline": np.ascontiguousarray(den_baseline, dtype=np.float64),
            "num_candidate": np.ascontiguousarray(num_candidate, dtype=np.float64),
            "den_candidate": np.ascontiguousarray(den_candidate, dtype=np.float64),
        }
        size = arrays["num_baseline"].size
        for name, array in arrays.items():
            _check_counts(name, array, size)
        if cluster is None:
            cluster_index = np.arange(size, dtype=np.intp)
        else:
            given = np.asarray(cluster)
            if given.shape != (size,):
                raise ValueError(f"cluster has shape {given.shape}, expected ({size},): one entry a sample")
            cluster_index = _dense_index(given)
        members: dict[str, IndexArray] = {}
        for name, indices in (slices if slices is not None else {"all": np.arange(size)}).items():
            members[name] = _checked_members(name, np.asarray(indices, dtype=np.intp), size)
        return cls(**arrays, cluster=cluster_index, slices=members, kind=kind, statistic=statistic)

    @property
    def n_samples(self) -> int:
        """Number of paired samples over all slices."""
        return int(self.num_baseline.size)


def _check_counts(name: str, array: FloatArray, size: int) -> None:
    if array.shape != (size,):
        raise ValueError(f"{name} has shape {array.shape}, expected ({size},): one entry a sample, both runs alike")
    bad = ~np.isfinite(array)
    if name.startswith("den"):
        bad |= array < 0
    if bad.any():
        position = int(np.argmax(bad))
        rule = "finite and at least 0" if name.startswith("den") else "finite"
        raise ValueError(f"{name}[{position}] is {array[position]!r}; every value must be {rule}")


def _dense_index(labels: NDArray[np.generic]) -> IndexArray:
    """Labels as 0..k−1 without gaps; no sort where they are dense already."""
    if labels.size and np.issubdtype(labels.dtype, np.integer):
        integers = labels.astype(np.intp)
        if integers.min() >= 0 and integers.max() < 2 * labels.size and np.bincount(integers).all():
            return integers
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.intp).reshape(-1)


def _checked_members(name: str, indices: IndexArray, size: int) -> IndexArray:
    if indices.ndim != 1:
        raise ValueError(f"slice {name!r} must be a flat list of sample indices, got shape {indices.shape}")
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        outside = indices[(indices < 0) | (indices >= size)][0]
        raise ValueError(f"slice {name!r} holds sample index {outside}, but there are {size} samples")
    if np.bincount(indices, minlength=1).max() > 1:
        twice = int(np.argmax(np.bincount(indices) > 1))
        raise ValueError(f"slice {name!r} holds sample index {twice} more than once")
    return indices
