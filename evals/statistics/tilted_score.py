"""The score test of a mean under empirical-likelihood weights: Tango's test for any paired outcome.

Tango (1998) tests a difference of paired proportions with the variance taken under the null hypothesis, from the
multinomial probabilities that are most likely *given* that hypothesis. Empirical likelihood (Owen 1988) extends "most
likely given the hypothesis" from four cells to any set of values: the observed clusters are reweighted as little as
possible so that their mean meets the hypothesis. Two values that need not have been observed belong to that set: a
cluster destroyed entirely and a cluster that gained as much as any changed. They receive weight only where the
observed clusters could not plausibly meet the hypothesis without them; that is what keeps an interval from
collapsing when nothing was broken *yet*. For right-or-wrong outcomes the result equals Tango's (absolute loss) and
Nam and Blackwelder's (2002, relative loss) statistics exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tliveomni_eval.evals.statistics.paired_slices import FloatArray

_ITERATIONS = 80
_TOLERANCE = 1e-9
_NO_SPREAD = 1e-12


@dataclass(frozen=True, slots=True)
class TiltedScore:
    """Test statistics of "the mean is 0", one an entry of the batch; about standard normal if it is.

    Attributes:
        score: √n · mean / σ with σ under the hypothesis.
        corrected: `score` with the skewness of the mean taken out (Gart and Nam 1988; Laud 2017).
        studentised: √n · mean / s with the sample standard deviation s, mapped from Student's t to a normal score.
    """

    score: FloatArray
    corrected: FloatArray
    studentised: FloatArray


def tilted_score(
    values: FloatArray, worst: FloatArray, best: FloatArray, multiplicity: FloatArray | None = None
) -> TiltedScore:
    """Score statistics of E[values] = 0 for a batch of samples.

    Args:
        values: One value a cluster, larger is worse, shape (batch, n).
        worst: Value ≥ 0 of a cluster destroyed entirely, shape (batch,).
        best: Size ≥ 0 of the largest gain that an unseen cluster may show (its value is −best), shape (batch,).
        multiplicity: How often each value was observed, > 0, shape (batch, n) or (1, n); omitted, once each.

    Returns:
        Arrays of shape (batch,). Where every value is 0 the statistics are 0.
    """
    count = np.full(values.shape[0], values.shape[1]) if multiplicity is None else multiplicity.sum(axis=1)
    mean = _total(values, multiplicity) / count
    square = _total(values * values, multiplicity) / count
    spread = np.where(square - mean**2 > _NO_SPREAD * square, square - mean**2, 0.0)
    sign = np.where(mean > 0, -1.0, 1.0)
    oriented = values * sign[:, None]
    extreme = np.where(mean > 0, best, worst)
    tilt = _tilt(oriented, multiplicity, extreme, start=-np.abs(mean) / np.maximum(square, 1e-300))
    weights = 1 / (1 - tilt[:, None] * oriented)
    unseen = np.maximum(0.0, 1 - _total(weights, multiplicity) / count)
    weights *= oriented
    weights *= oriented
    variance = _total(weights, multiplicity) / count + unseen * extreme**2
    weights *= oriented
    third = _total(weights, multiplicity) / count + unseen * extreme**3
    # Without a value on the other side of 0, seen or possible, no weights meet the hypothesis.
    impossible = (np.maximum(oriented.max(axis=1), extreme) <= 0) & (mean != 0)
    score = _ratio(np.sqrt(count) * mean, np.where(impossible, 0.0, np.sqrt(variance)))
    skewness = _ratio(sign * third, variance**1.5 * np.sqrt(count), otherwise=0.0)
    wald = _ratio(np.sqrt(np.maximum(count - 1, 1)) * mean, np.sqrt(spread))
    return TiltedScore(score, _skewness_corrected(score, skewness), _normal_score(wald, count - 1))


def _total(values: FloatArray, multiplicity: FloatArray | None) -> FloatArray:
    weighted = values if multiplicity is None else values * multiplicity
    return np.asarray(weighted.sum(axis=1))


def _ratio(numerator: FloatArray, denominator: FloatArray, otherwise: float | None = None) -> FloatArray:
    """Numerator over denominator; over 0 it is `otherwise`, by default ±∞, and 0 for 0 / 0."""
    positive = denominator > 0
    infinite = np.where(numerator == 0, 0.0, np.copysign(np.inf, numerator))
    fallback = infinite if otherwise is None else np.full_like(infinite, otherwise)
    return np.where(positive, numerator / np.where(positive, denominator, 1.0), fallback)


def _tilt(oriented: FloatArray, multiplicity: FloatArray | None, extreme: FloatArray, start: FloatArray) -> FloatArray:
    """The t ≥ 0 that solves Σ m e / (1 − t e) = 0, or 1/extreme where that comes first (the mean of e is ≤ 0).

    The sum grows with t from at most 0, so Newton's method inside a shrinking bracket finds the root.
    """
    largest = np.maximum(oriented.max(axis=1), extreme)
    limit = np.where(largest > 0, 1 / np.where(largest > 0, largest, 1.0), 0.0)
    at_limit, _ = _constraint(oriented, multiplicity, limit)
    tilt = limit.copy()
    rows = np.flatnonzero((at_limit > 0) & (limit > 0))
    if not rows.size:
        return tilt
    every = rows.size == oriented.shape[0]
    e = oriented if every else oriented[rows]
    m = multiplicity if every or multiplicity is None or multiplicity.shape[0] == 1 else multiplicity[rows]
    low, high = np.zeros(rows.size), limit[rows]
    guess = np.clip(-start[rows], 0.0, high / 2)
    for _ in range(_ITERATIONS):
        value, slope = _constraint(e, m, guess)
        low = np.where(value <= 0, guess, low)
        high = np.where(value > 0, guess, high)
        step = guess - value / np.where(slope > 0, slope, 1.0)
        following = np.where((step >= low) & (step < high) & (slope > 0), step, (low + high) / 2)
        converged = bool(np.all(np.abs(following - guess) <= _TOLERANCE * limit[rows]))
        guess = following
        if converged:
            break
    tilt[rows] = guess
    return tilt


def _constraint(
    oriented: FloatArray, multiplicity: FloatArray | None, tilt: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Σ m e / (1 − t e) and its derivative in t; the sum is +inf where an observed value sits on the pole."""
    room = tilt[:, None] * oriented
    np.subtract(1.0, room, out=room)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        np.divide(oriented, room, out=room, where=room > 1e-15)
        on_pole = (1 - tilt * oriented.max(axis=1)) <= 1e-15
    if multiplicity is None:
        slope = np.einsum("ij,ij->i", room, room)
        value = room.sum(axis=1)
    else:
        slope = (multiplicity * room * room).sum(axis=1)
        value = (multiplicity * room).sum(axis=1)
    return np.where(on_pole & (tilt > 0), np.inf, value), slope


def _skewness_corrected(score: FloatArray, skewness: FloatArray) -> FloatArray:
    """Solve score = z + skewness · (z² − 1) / 6 for the root next to `score`; `score` where there is none."""
    small = np.abs(skewness) < 1e-9
    third = np.where(small, 1.0, skewness / 3)
    finite = np.where(np.isfinite(score), score, 0.0)
    inside = 1 + 2 * third * (finite + skewness / 6)
    root = (np.sqrt(np.maximum(inside, 0.0)) - 1) / third
    return np.where(small | (inside < 0) | ~np.isfinite(score), score, root)


def _normal_score(t: FloatArray, degrees: FloatArray) -> FloatArray:
    """The normal deviate with the tail area of Student's t (Wallace 1959, within 0.003 from 5 degrees on)."""
    degrees = np.maximum(degrees, 1.0)
    finite = np.where(np.isfinite(t), t, 0.0)
    size = (8 * degrees + 1) / (8 * degrees + 3) * np.sqrt(degrees * np.log1p(finite**2 / degrees))
    return np.where(np.isfinite(t), np.copysign(size, t), t)
