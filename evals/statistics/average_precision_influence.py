"""How much each sample moves average precision: the derivative of AP in the samples' weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.statistics.paired_slices import FloatArray, IndexArray


def average_precision_influence(
    matched: NDArray[np.bool_], sample: IndexArray, references: FloatArray, weights: FloatArray
) -> tuple[float, FloatArray]:
    """Average precision of ranked detections under sample weights, and its derivative in each weight.

    AP is the area under the precision envelope over recall: Σ_i (w_i / R) · E_i over the true positives i, with R the
    weighted references and E_i the largest precision at rank i or below. Each envelope value is the precision at one
    rank, so the derivative follows from two cumulative sums. The derivatives times the weights sum to 0: AP does not
    change when all weights are doubled.

    Args:
        matched: Whether each detection is a true positive, best score first, shape (detections,).
        sample: Sample of each detection, shape (detections,).
        references: References of each sample, shape (samples,).
        weights: Weight ≥ 0 of each sample, shape (samples,).

    Returns:
        AP in 0..1 (NaN without references) and the derivatives, shape (samples,).
    """
    n_samples = references.size
    total = float(references @ weights)
    if not total > 0:
        return float("nan"), np.zeros(n_samples)
    kept = weights[sample] > 0
    if not kept.all():
        matched, sample = matched[kept], sample[kept]
    true = np.flatnonzero(matched)
    if not true.size:
        return 0.0, np.zeros(n_samples)
    weight = weights[sample]
    ranked = np.cumsum(weight)[true]
    precision = np.cumsum(weight[true]) / ranked
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    share = weight[true] / total
    area = float(share @ envelope)
    # The envelope at i is the precision at the first true positive from i on that attains it.
    attained = np.where(precision >= envelope, np.arange(true.size), true.size)
    source = np.minimum.accumulate(attained[::-1])[::-1]
    mass = np.bincount(source, weights=share, minlength=true.size) / ranked
    lift = np.cumsum(mass[::-1])[::-1]
    drag = np.cumsum((mass * precision)[::-1])[::-1]
    # A detection at rank ρ is counted by every true positive ranked ρ or later.
    following = np.searchsorted(true, np.arange(sample.size))
    per_detection = -np.append(drag, 0.0)[following]
    per_detection[true] += lift + envelope / total
    influence = np.bincount(sample, weights=per_detection, minlength=n_samples)
    return area, influence - area * references / total
