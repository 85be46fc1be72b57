"""How many clusters a verdict takes: the fewest that could PASS, and how many more would probably decide."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.statistics.comparison import LossKind
from tliveomni_eval.evals.statistics.loss_interval import claim_scores, critical_score
from tliveomni_eval.evals.statistics.paired_slices import FloatArray
from tliveomni_eval.evals.statistics.slice_stack import SliceStack

LARGEST_NUMBER = 10**7
"""More clusters than this are reported as "no number would do"."""

_NORMAL = NormalDist()
_STEPS = 48


def minimum_clusters(stack: SliceStack, budget: float, kind: LossKind, confidence: float) -> FloatArray:
    """Fewest clusters like these that could PASS if not one of them had changed, one a slice; +inf where none could.

    The score of unchanged clusters grows with the square root of their number, so one test tells.
    """
    reached = -claim_scores(stack.unchanged(), np.full(len(stack), budget), kind).below
    possible = reached > 0
    needed = stack.n_clusters * (critical_score(confidence) / np.where(possible, reached, 1.0)) ** 2
    return np.where(possible & (needed <= LARGEST_NUMBER), np.ceil(needed * (1 - 1e-9)), np.inf)


def clusters_to_decide(
    stack: SliceStack, budget: float, kind: LossKind, confidence: float, power: float = 0.8
) -> FloatArray:
    """Clusters for this power to reach a verdict if they all look like the ones seen, one a slice.

    The statistic at a multiple of the present number must exceed the critical value by as many of its own standard
    deviations as the power asks for.

    Returns:
        Total number of clusters, shape (slices,); +inf where the estimate lies so close to the budget that no
        reasonable number would do.
    """
    critical, wanted = critical_score(confidence), _NORMAL.inv_cdf(power)
    at_budget = np.full(len(stack), budget)
    count = stack.n_clusters
    passing = stack.loss(kind) <= budget
    difference = stack.hypothesis(at_budget, kind)
    mean, spread = np.abs(stack.mean(difference)), stack.spread(difference)

    def decided(multiple: FloatArray) -> NDArray[np.bool_]:
        found = claim_scores(stack, at_budget, kind, multiple)
        reached = np.where(passing, -found.below, found.above)
        # score = √n · mean / σ, so between repetitions it varies by s / σ.
        variation = np.where(
            mean > 0, spread * reached / np.where(mean > 0, mean, 1.0) / np.sqrt(multiple * count), 1.0
        )
        return np.asarray((reached > 0) & (reached >= critical + wanted * variation))

    low, high = np.log(1 / count), np.log(LARGEST_NUMBER / count)
    possible = decided(np.exp(high))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        enough = decided(np.exp(middle))
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        if np.all((np.exp(high) - np.exp(low)) * count < np.maximum(0.5, 1e-3 * np.exp(high) * count)):
            break
    return np.where(possible, np.ceil(np.exp(high) * count), np.inf)
