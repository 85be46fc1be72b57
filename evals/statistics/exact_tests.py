"""Exact tests and bounds for counts: McNemar's test, and what "none seen" leaves possible."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from tliveomni_eval.evals.statistics.paired_slices import FloatArray


def mcnemar_exact(worsened: int, improved: int) -> tuple[float, float]:
    """McNemar's exact test (1947): of the clusters that changed, did more fall than rise?

    Args:
        worsened: Clusters right in the baseline only.
        improved: Clusters right in the candidate only.

    Returns:
        The two-sided p value, and the one-sided p value of a degradation (small where more worsened).

    >>> tuple(round(p, 6) for p in mcnemar_exact(30, 10))
    (0.002221, 0.001111)
    """
    total = worsened + improved
    if total == 0:
        return 1.0, 1.0
    degradation = _fair_coin_tail(total, worsened)
    two_sided = min(1.0, 2 * min(degradation, _fair_coin_tail(total, improved)))
    return two_sided, degradation


def _fair_coin_tail(trials: int, at_least: int) -> float:
    """P(X ≥ at_least) for X ~ Binomial(trials, 1/2)."""
    if at_least <= 0:
        return 1.0
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, trials + 1)))))
    heads = np.arange(at_least, trials + 1)
    terms = logs[trials] - logs[heads] - logs[trials - heads] - trials * math.log(2)
    return float(min(1.0, np.exp(terms).sum()))


def share_possible_if_none_seen(clusters: ArrayLike, confidence: float = 0.95) -> FloatArray:
    """Largest share of broken clusters with which seeing none among `clusters` is still this likely: 1 − confidence.

    The exact form of the rule of three (Hanley and Lippman-Hand 1983): 1 − (1 − confidence)^(1/n), about 3/n at 95 %.

    >>> round(float(share_possible_if_none_seen(200)), 4)
    0.0149
    """
    return -np.expm1(math.log1p(-confidence) / np.maximum(clusters, 1e-300))
