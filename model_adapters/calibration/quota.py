"""How many samples each stratum gives: first every value of every dimension once, then shares by weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stratum:
    """Samples that are alike in everything that is balanced.

    Attributes:
        task: Their task.
        values: Dimension and value of everything that must occur, the task included.
        weight: How much more of them is wanted than of a stratum of weight 1, above 0.
        available: How many there are, at least 1.
    """

    task: str
    values: tuple[tuple[str, str], ...]
    weight: float
    available: int


def allocate(wanted: int, strata: Sequence[Stratum]) -> Counts:
    """Samples to take from each stratum.

    Every value of every dimension is covered where `wanted` is at least the number of different values, because each
    sample of the first phase covers at least one more. The rest is shared: a task gets the mean weight of its strata,
    its strata share that by weight, and what a stratum cannot give goes to the others in proportion.

    Args:
        wanted: Samples to take in all, ≥ 0.
        strata: Where from.

    Returns:
        One count a stratum, none above what is available; their sum is `wanted`, or all there are where that is less.
    """
    capacity = np.array([stratum.available for stratum in strata], dtype=np.int64)
    total = min(wanted, int(capacity.sum()))
    floor = _covering(total, strata)
    return _water_filled(total, shares(strata), floor, capacity)


def shares(strata: Sequence[Stratum]) -> NDArray[np.float64]:
    """Share of each stratum in what is wanted, where all could give enough; they sum to 1 (of none: to 0)."""
    sizes: dict[str, int] = {}
    for stratum in strata:
        sizes[stratum.task] = sizes.get(stratum.task, 0) + 1
    raw = np.array([stratum.weight / sizes[stratum.task] for stratum in strata], dtype=np.float64)
    return raw / raw.sum() if len(raw) else raw


def _covering(total: int, strata: Sequence[Stratum]) -> Counts:
    """Greedy set cover: the stratum that brings most values not yet covered, of equals the heaviest, then the first."""
    counts = np.zeros(len(strata), dtype=np.int64)
    numbers: dict[tuple[str, str], int] = {}
    for stratum in strata:
        for value in stratum.values:
            numbers.setdefault(value, len(numbers))
    holds = np.zeros((len(strata), len(numbers)), dtype=bool)
    for row, stratum in enumerate(strata):
        holds[row, [numbers[value] for value in stratum.values]] = True
    weights = np.array([stratum.weight for stratum in strata])
    missing = np.ones(len(numbers), dtype=bool)
    for _ in range(total):
        if not missing.any():
            break
        brings = holds[:, missing].sum(axis=1)
        best = np.flatnonzero(brings == brings.max())
        row = int(best[np.argmax(weights[best])])
        counts[row] += 1
        missing &= ~holds[row]
    return counts


def _water_filled(total: int, share: NDArray[np.float64], floor: Counts, capacity: Counts) -> Counts:
    """Whole numbers near level · share, between floor and capacity, that sum to `total`."""
    if not len(share) or total == 0:
        return floor
    low, high = 0.0, float(capacity.max() / share.min()) + 1.0
    for _ in range(200):
        level = (low + high) / 2
        if np.clip(level * share, floor, capacity).sum() < total:
            low = level
        else:
            high = level
    exact = np.clip(low * share, floor, capacity)
    counts = np.floor(exact + 1e-9).astype(np.int64)
    while (left := total - int(counts.sum())) > 0:
        rest = np.where(counts < capacity, exact - counts, -np.inf)
        counts[np.argsort(-rest, kind="stable")[: min(left, int((counts < capacity).sum()))]] += 1
    return counts
