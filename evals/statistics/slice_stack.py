"""Many slices as one batch of arrays, so that a test of all of them is a handful of array operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.statistics.cluster_values import COEFFICIENTS, SMALLEST_DIVISOR, ClusterValues
from tliveomni_eval.evals.statistics.comparison import LossKind
from tliveomni_eval.evals.statistics.paired_slices import FloatArray
from tliveomni_eval.evals.statistics.tilted_score import TiltedScore, tilted_score


@dataclass(frozen=True, eq=False)
class SliceStack:
    """Cluster values of a batch of slices, padded to equally many rows.

    Attributes:
        baseline: x, shape (slices, rows); 0 in padding.
        candidate: y, shape (slices, rows); 0 in padding.
        size: s, shape (slices, rows); 0 in padding.
        multiplicity: Clusters in each row, shape (slices, rows), 0 in padding; None where every row is one cluster.
        destroyed: Quality and size that a cluster destroyed entirely would have had, two arrays of shape (slices,).
        gain: Largest gain an unseen cluster may show, shape (slices,).
        right_or_wrong: Whether every outcome of the slice is 0 or 1, shape (slices,).
    """

    baseline: FloatArray
    candidate: FloatArray
    size: FloatArray
    multiplicity: FloatArray | None
    destroyed: tuple[FloatArray, FloatArray]
    gain: FloatArray
    right_or_wrong: NDArray[np.bool_]

    @classmethod
    def of(cls, slices: Sequence[ClusterValues]) -> SliceStack:
        """The batch of these slices; each has at least one cluster."""
        rows = max(values.baseline.size for values in slices)
        padded = np.zeros((4, len(slices), rows))
        for index, values in enumerate(slices):
            count = np.ones(values.baseline.size) if values.multiplicity is None else values.multiplicity
            for array, field in zip(padded, (values.baseline, values.candidate, values.size, count), strict=True):
                array[index, : field.size] = field
        alike = np.array([values.right_or_wrong for values in slices])
        return cls.of_arrays(padded[0], padded[1], padded[2], padded[3], right_or_wrong=alike)

    @classmethod
    def of_arrays(
        cls,
        baseline: FloatArray,
        candidate: FloatArray,
        size: FloatArray,
        multiplicity: FloatArray | None,
        *,
        right_or_wrong: NDArray[np.bool_],
    ) -> SliceStack:
        """The batch of these cluster values, with what an unseen cluster may show.

        The destroyed cluster is one drawn with probability proportional to its quality: then the variance that a
        share p of destroyed clusters adds is right. A gain is at most the largest change seen, and a whole cluster
        where outcomes are right or wrong or where nothing changed.
        """
        counted = 1.0 if multiplicity is None else multiplicity
        held = np.maximum(baseline, 0.0)
        held_counted = held * counted
        total = held_counted.sum(axis=1)
        some = total > 0
        divisor = np.where(some, total, 1.0)
        mass = np.where(some, (held_counted * held).sum(axis=1) / divisor, 1.0)
        mass_size = np.where(some, (held_counted * size).sum(axis=1) / divisor, 1.0)
        largest = np.abs(baseline - candidate).max(axis=1)
        largest = np.where(largest > 1e-9 * np.abs(baseline).max(axis=1), largest, mass)
        gain = np.where(right_or_wrong, 1.0, largest)
        return cls(baseline, candidate, size, multiplicity, (mass, mass_size), gain, right_or_wrong)

    def __len__(self) -> int:
        return int(self.baseline.shape[0])

    @property
    def n_clusters(self) -> FloatArray:
        """Clusters of each slice, shape (slices,)."""
        if self.multiplicity is None:
            return np.full(len(self), float(self.baseline.shape[1]))
        return np.asarray(self.multiplicity.sum(axis=1))

    def mean(self, values: FloatArray) -> FloatArray:
        """Mean over the clusters of each slice of values of shape (slices, rows)."""
        weighted = values if self.multiplicity is None else values * self.multiplicity
        return np.asarray(weighted.sum(axis=1) / self.n_clusters)

    def spread(self, values: FloatArray) -> FloatArray:
        """Standard deviation over the clusters of each slice (divisor n) of values of shape (slices, rows)."""
        return np.sqrt(self.mean((values - self.mean(values)[:, None]) ** 2))

    def unchanged(self) -> SliceStack:
        """The same slices had the candidate answered as the baseline did."""
        return SliceStack(
            self.baseline,
            self.baseline,
            self.size,
            self.multiplicity,
            self.destroyed,
            self.gain,
            self.right_or_wrong,
        )

    def loss(self, kind: LossKind) -> FloatArray:
        """Point estimate of the loss of each slice; NaN where it is undefined."""
        quality_b, quality_c = self.mean(self.baseline), self.mean(self.candidate)
        divisor = {"absolute": np.ones_like(quality_b), "relative": quality_b, "relative_error": 1 - quality_b}[kind]
        positive = divisor > SMALLEST_DIVISOR
        return np.where(positive, (quality_b - quality_c) / np.where(positive, divisor, 1.0), np.nan)

    def hypothesis(self, loss: FloatArray, kind: LossKind) -> FloatArray:
        """d(θ) of `cluster_values` at one θ a slice, shape (slices, rows)."""
        alpha, beta = COEFFICIENTS[kind]
        values = (1 + alpha * loss)[:, None] * self.baseline
        values -= self.candidate
        if beta:
            values -= (beta * loss)[:, None] * self.size
        return values

    def score(self, loss: FloatArray, kind: LossKind, multiple: FloatArray | None = None) -> TiltedScore:
        """Score statistics of "the loss is θ", one θ a slice.

        Args:
            loss: θ, shape (slices,).
            kind: Scale of θ.
            multiple: Count every cluster of a slice this many times, shape (slices,); omitted, once.
        """
        alpha, beta = COEFFICIENTS[kind]
        mass, size = self.destroyed
        multiplicity = self.multiplicity
        if multiple is not None:
            multiplicity = (np.ones_like(self.baseline) if multiplicity is None else multiplicity) * multiple[:, None]
        return tilted_score(
            self.hypothesis(loss, kind),
            worst=np.maximum(0.0, (1 + alpha * loss) * mass - beta * loss * size),
            best=np.maximum(0.0, self.gain + beta * loss * size),
            multiplicity=multiplicity,
        )
