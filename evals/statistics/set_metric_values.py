"""Cluster values of a metric that is no ratio of sums: its linear part in the clusters' weights."""

from __future__ import annotations

import numpy as np
from tliveomni_eval.evals.statistics.cluster_values import ClusterValues
from tliveomni_eval.evals.statistics.paired_slices import (
    FloatArray,
    IndexArray,
    PairedSums,
    SetMetric,
    SetMetricPair,
    SetMetricWithInfluence,
)

_MOST_GROUPS = 512


def set_metric_cluster_values(paired: PairedSums, members: IndexArray) -> ClusterValues:
    """One value a cluster whose mean is the metric and whose differences are the cluster's influence on it.

    The value of cluster k of n is Q + n · ∂Q/∂w_k (infinitesimal jackknife, Jaeckel 1972; Efron 1982) where the
    metric knows its derivative, otherwise the delete-one pseudo-value n·Q − (n − 1)·Q₍₋ₖ₎ (Tukey 1958), shifted so that
    the mean is Q. With more than 512 clusters the latter leaves out groups of them, whose clusters share a value's
    deviation evenly.

    Returns:
        No clusters where the metric is undefined in either run.
    """
    assert isinstance(paired.statistic, SetMetricPair)
    empty = np.empty(0)
    undefined = ClusterValues(empty, empty, empty, label=np.empty(0, dtype=np.intp))
    if not members.size:
        return undefined
    weights = np.zeros(paired.n_samples)
    weights[members] = 1.0
    labels, cluster = np.unique(paired.cluster[members], return_inverse=True)
    values = [
        _values(metric, weights, members, cluster.reshape(-1), labels.size)
        for metric in (paired.statistic.baseline, paired.statistic.candidate)
    ]
    if any(np.isnan(array).any() for array in values):
        return undefined
    return ClusterValues(values[0], values[1], np.ones(labels.size), label=labels)


def _values(
    metric: SetMetric, weights: FloatArray, members: IndexArray, cluster: IndexArray, n_clusters: int
) -> FloatArray:
    quality = metric.weighted(weights)
    if isinstance(metric, SetMetricWithInfluence):
        derivative = metric.influence(weights)[members]
        return np.asarray(quality + n_clusters * np.bincount(cluster, weights=derivative, minlength=n_clusters))
    groups = min(n_clusters, _MOST_GROUPS)
    group = np.arange(n_clusters) % groups
    left_out = np.empty(groups)
    for index in range(groups):
        reduced = weights.copy()
        reduced[members[group[cluster] == index]] = 0.0
        left_out[index] = metric.weighted(reduced)
    # Without a cluster the metric may be undefined (it held every reference); then it tells nothing.
    left_out[np.isnan(left_out)] = quality
    pseudo = groups * quality - (groups - 1) * left_out
    deviation = pseudo - pseudo.mean()
    # A group's deviation is the mean of its clusters'; √size keeps the variance of the total.
    values = (deviation * np.sqrt(n_clusters / groups))[group]
    return np.asarray(quality + values - values.mean())
