"""The cluster bootstrap of the loss on many slices at once: one matrix product a block of replicates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.statistics.cluster_values import COEFFICIENTS, ClusterValues
from tliveomni_eval.evals.statistics.comparison import LossKind
from tliveomni_eval.evals.statistics.paired_slices import FloatArray, IndexArray

MOST_UNITS = 1024
"""Units that are resampled; more clusters than this are first put together at random, many to a unit."""

_REPLICATES_AT_ONCE = 512


def bootstrap_losses(
    slices: Sequence[ClusterValues], n_clusters: int, kind: LossKind, replicates: int, seed: int
) -> FloatArray:
    """Losses of resampled runs; every replicate draws the same clusters for every slice.

    The weights of the units are Poisson(1), the limit of the multinomial (Chamandy et al. 2012); a ratio of sums is
    not affected by their varying total. A run of more than `MOST_UNITS` clusters is resampled in units of clusters
    put together at random: the variance of a sum stays the same in expectation, and the spread of the replicates is
    known to about 1 / √(2 · units), 2.2 %.

    Args:
        slices: Cluster values with `label` = index of the cluster in the whole run.
        n_clusters: Clusters in the whole run.
        kind: Scale of the loss.
        replicates: Number of replicates, at least 1.
        seed: Seed of the resampling.

    Returns:
        Shape (slices, replicates); NaN where a replicate has no baseline quality (or error) above 0.
    """
    generator = np.random.default_rng(seed)
    units = min(n_clusters, MOST_UNITS)
    unit_of = _units(n_clusters, units, generator)
    alpha, beta = COEFFICIENTS[kind]
    totals = np.empty((units, 2 * len(slices)), dtype=np.float32)
    for index, values in enumerate(slices):
        assert values.label is not None
        unit = unit_of[values.label]
        divisor = beta * values.size - alpha * values.baseline
        totals[:, index] = np.bincount(unit, weights=values.change, minlength=units)
        totals[:, len(slices) + index] = np.bincount(unit, weights=divisor, minlength=units)
    losses = np.empty((len(slices), replicates))
    for start in range(0, replicates, _REPLICATES_AT_ONCE):
        stop = min(replicates, start + _REPLICATES_AT_ONCE)
        drawn = _poisson_weights(generator, stop - start, units) @ totals
        difference, positive = drawn[:, : len(slices)].T, drawn[:, len(slices) :].T
        losses[:, start:stop] = np.divide(
            difference, positive, out=np.full(difference.shape, np.nan, dtype=np.float32), where=positive > 0
        )
    return losses


def percentile_intervals(losses: FloatArray, confidence: float) -> FloatArray:
    """Percentile interval of each slice, shape (slices, 2); NaN without a finite replicate."""
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    if np.isnan(losses).any():
        return np.array([_of_finite(row[~np.isnan(row)], tails) for row in losses]).reshape(-1, 2)
    return np.asarray(np.quantile(losses, tails, axis=1).T)


def _of_finite(row: FloatArray, tails: list[float]) -> FloatArray:
    return np.asarray(np.quantile(row, tails)) if row.size else np.full(2, np.nan)


def _units(n_clusters: int, units: int, generator: np.random.Generator) -> IndexArray:
    """Unit of each cluster, as evenly filled as possible."""
    even = np.arange(n_clusters, dtype=np.intp) % max(units, 1)
    return generator.permutation(even) if n_clusters > units else even


def _poisson_table() -> NDArray[np.float32]:
    """Poisson(1) counts by a uniform 16-bit number, so that each count has its probability to 1 in 65,536."""
    probabilities = np.exp(-1.0) / np.cumprod(np.concatenate(([1.0], np.arange(1, 12))))
    edges = np.cumsum(probabilities)
    uniform = (np.arange(65_536) + 0.5) / 65_536
    return np.searchsorted(edges, uniform).astype(np.float32)


_POISSON = _poisson_table()


def _poisson_weights(generator: np.random.Generator, replicates: int, units: int) -> NDArray[np.float32]:
    uniform = generator.integers(0, 65_536, size=(replicates, units), dtype=np.uint16)
    return np.asarray(_POISSON[uniform])
