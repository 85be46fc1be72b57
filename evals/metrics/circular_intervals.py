"""Intervals for the numbers of a CircularEval run, clustered by question.

A number with one trial a question (circular, vanilla, their difference, consistency, a category) has Wilson's score
interval: questions are independent of each other. The requests of a question are not, so the accuracy by position and
the share that does not resolve have a percentile bootstrap interval over whole questions; where all requests agree,
there is nothing to resample, and questions are the trials of Wilson's interval instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from tliveomni_eval.evals.metrics.circular_eval import RotationAnswer, whole_questions
from tliveomni_eval.evals.record import Counts

Interval = tuple[float, float]
REPLICATES = 2000
_SEED = 20


def rate_interval(counts: Counts, level: float = 0.95) -> Interval | None:
    """Wilson's interval of a share of questions; None where there is no question.

    Args:
        counts: Questions that are right, over questions.
        level: Confidence, 0..1.
    """
    if counts.den < 1:
        return None
    interval = binomtest(round(counts.num), round(counts.den)).proportion_ci(level, method="wilson")
    return float(interval.low), float(interval.high)


def clustered_intervals(answers: Iterable[RotationAnswer], level: float = 0.95) -> Mapping[str, Interval]:
    """Bootstrap intervals over whole questions.

    Args:
        answers: All requests of a run.
        level: Confidence, 0..1.

    Returns:
        Intervals of `unparsed` and `position=LETTER`; empty without a whole question. The same answers always give the
        same intervals.

    Raises:
        ValueError: As `circular_report`.
    """
    whole, _ = whole_questions(answers)
    if not whole:
        return {}
    sums = _sums_by_question(whole)
    chance = 1 / len(whole)
    weights = np.random.default_rng(_SEED).multinomial(len(whole), [chance] * len(whole), REPLICATES).astype(float)
    tails = [(1 - level) / 2, (1 + level) / 2]
    intervals = {}
    for name, (num, den) in sums.items():
        if num.sum() in (0, den.sum()):
            questions = int((den > 0).sum())
            agreed = rate_interval(Counts(questions if num.any() else 0, questions), level)
            assert agreed is not None, "a name is there because a question has it"
            intervals[name] = agreed
            continue
        total = weights @ den
        rates = (weights @ num)[total > 0] / total[total > 0]
        low, high = np.quantile(rates, tails)
        intervals[name] = (float(low), float(high))
    return intervals


def _sums_by_question(
    whole: Sequence[Sequence[RotationAnswer]],
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Name to numerators and denominators, each of shape (questions,)."""
    sums: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = defaultdict(
        lambda: (np.zeros(len(whole)), np.zeros(len(whole)))
    )
    for number, group in enumerate(whole):
        for item in group:
            for name, value in ((f"position={item.answer}", item.hit), ("unparsed", item.chosen is None)):
                num, den = sums[name]
                num[number] += value
                den[number] += 1
    return dict(sums)
