"""Power of the release gate beside an exact test's, for right-or-wrong outcomes, by summing over all tables.

No exact test exists that is free of the flip rate, so the yardstick is the unconditional one (Barnard 1945; for
non-inferiority in matched pairs Sidik 2003): tables are ordered by the score statistic, and the largest set of them is
rejected whose probability at the budget stays within the level for *every* flip rate up to somewhat above the true one.
It is told the baseline's quality and nearly the flip rate, so it is hard to beat.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from outcome_models import BINARY_QUALITY, stack_of_cells
from scipy.stats import binom
from tliveomni_eval.evals.statistics.loss_interval import claims_of, critical_score

_TABLES_AT_ONCE = 50_000
_NUISANCE_POINTS = 25


@dataclass(frozen=True)
class PassPower:
    """Probability of PASS at zero loss.

    Attributes:
        clusters: Clusters of a run.
        flip_rate: Share of clusters that change.
        expected_discordant: Their expected number.
        exact_test: Power of the exact test.
        gate: Power of the release gate.
        gate_false_pass: Largest probability of PASS at the budget over the flip rates considered.
    """

    clusters: int
    flip_rate: float
    expected_discordant: float
    exact_test: float
    gate: float
    gate_false_pass: float


def pass_power(clusters: int, flip_rate: float, budget: float, confidence: float) -> PassPower:
    """Both powers at zero loss for one number of clusters and flip rate."""
    right = round(BINARY_QUALITY * clusters)
    wrong = clusters - right
    widest = flip_rate * 1.25 + 0.01
    gains = np.linspace(0.0, min(1.0, widest * clusters / 2 / wrong), _NUISANCE_POINTS)
    largest_break = budget + gains[-1] * wrong / right
    breaks = np.arange(int(binom.ppf(1 - 1e-10, right, largest_break)) + 2)
    fixes = np.arange(int(binom.ppf(1 - 1e-10, wrong, gains[-1])) + 2)
    score, below = _statistics(breaks, fixes, right, wrong, budget)
    order = np.argsort(score, kind="stable")
    gate = (below <= -critical_score(confidence))[order]
    at_budget = [_probability(breaks, fixes, right, wrong, budget, gain)[order] for gain in gains]
    size = np.max([np.cumsum(probability) for probability in at_budget], axis=0)
    rejected = size <= (1 - confidence) / 2
    gain = flip_rate * clusters / 2 / wrong
    at_zero = _probability(breaks, fixes, right, wrong, 0.0, gain)[order]
    return PassPower(
        clusters,
        flip_rate,
        expected_discordant=clusters * flip_rate,
        exact_test=float(at_zero[rejected].sum()),
        gate=float(at_zero[gate].sum()),
        gate_false_pass=float(max(probability[gate].sum() for probability in at_budget)),
    )


def _statistics(
    breaks: NDArray[np.int_], fixes: NDArray[np.int_], right: int, wrong: int, budget: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    broken, fixed = (grid.reshape(-1) for grid in np.meshgrid(breaks, fixes, indexing="ij"))
    counts = np.stack([right - broken, broken, fixed, wrong - fixed], axis=1)
    scores, belows = [], []
    for start in range(0, len(counts), _TABLES_AT_ONCE):
        stack = stack_of_cells(np.maximum(counts[start : start + _TABLES_AT_ONCE], 0))
        at = np.full(len(stack), budget)
        found = stack.score(at, "relative")
        scores.append(found.score)
        belows.append(claims_of(found, stack.right_or_wrong).below)
    return np.concatenate(scores), np.concatenate(belows)


def _probability(
    breaks: NDArray[np.int_], fixes: NDArray[np.int_], right: int, wrong: int, loss: float, gain: float
) -> NDArray[np.float64]:
    """Probability of each table if wrong clusters are fixed at rate `gain` and the relative loss is `loss`."""
    break_rate = loss + gain * wrong / right
    table = binom.pmf(breaks, right, break_rate)[:, None] * binom.pmf(fixes, wrong, gain)[None, :]
    return np.asarray(table.reshape(-1))
