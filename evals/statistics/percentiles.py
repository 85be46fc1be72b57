"""Percentiles with distribution-free intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binom


class Percentile(NamedTuple):
    """A percentile and its interval.

    Attributes:
        value: Linear interpolation between order statistics.
        low: Lower end.
        high: Upper end.
    """

    value: float
    low: float
    high: float


def percentile(values: Sequence[float], share: float, confidence: float = 0.95) -> Percentile:
    """A percentile with the order-statistics interval (David and Nagaraja, 2003, Order Statistics, 7.1).

    The number of values below the true percentile is binomial, so order statistics bound it whatever the distribution.
    Where there are too few values for an end, it is the least or the largest of them, and covers less than stated.

    Args:
        values: At least one.
        share: In (0, 1); 0.95 is P95.
        confidence: Of the two-sided interval, in (0, 1).

    Raises:
        ValueError: There are no values, or `share` or `confidence` is out of range.

    >>> percentile([3.0, 1.0, 2.0], 0.5)
    Percentile(value=2.0, low=1.0, high=3.0)
    """
    if not len(values):
        raise ValueError("a percentile needs at least one value")
    if not 0 < share < 1 or not 0 < confidence < 1:
        raise ValueError(f"share={share} and confidence={confidence} must be in (0, 1)")
    ordered = np.sort(np.asarray(values, dtype=float))
    count = len(ordered)
    tail = (1 - confidence) / 2
    low = int(binom.ppf(tail, count, share)) - 1
    high = int(binom.ppf(1 - tail, count, share))
    value = float(np.quantile(ordered, share))
    ends = ordered[max(0, low)], ordered[min(count - 1, high)]
    return Percentile(value, min(value, float(ends[0])), max(value, float(ends[1])))
