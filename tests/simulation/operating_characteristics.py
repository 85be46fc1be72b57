"""Error rates, coverage and power of the release gate on populations whose loss is known."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from multiprocessing import get_context

import numpy as np
from outcome_models import MODELS, OutcomeModel
from tliveomni_eval.evals.statistics.loss_interval import claims_of, critical_score, unseen_loss

BUDGET = 0.015
CONFIDENCE = 0.95
LOSSES = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03)
FLIP_RATES = (0.01, 0.02, 0.05, 0.1, 0.2)
FEW_FLIP_RATES = (0.01, 0.05, 0.2)
_VALUES_AT_ONCE = 100_000


@dataclass(frozen=True)
class Cell:
    """One point of the grid.

    Attributes:
        metric: Name of the outcome model.
        clusters: Clusters a run.
        loss: True relative loss.
        flip_rate: Share of clusters that change.
        repetitions: Simulated pairs of runs.
        seed: Seed of the whole simulation.
    """

    metric: str
    clusters: int
    loss: float
    flip_rate: float
    repetitions: int
    seed: int


@dataclass(frozen=True)
class CellResult:
    """What happened in one cell; rates over the repetitions.

    Attributes:
        metric: As in `Cell`.
        clusters: As in `Cell`.
        loss: As in `Cell`.
        flip_rate: As in `Cell`.
        repetitions: As in `Cell`.
        passed: Share with verdict PASS.
        breached: Share with verdict BREACH.
        coverage: Share whose interval holds the true loss.
        missed_high: Share whose interval lies below the true loss.
        missed_low: Share whose interval lies above the true loss.
        paired_t_passed: Share that the paired t interval passes.
        paired_t_breached: Share that the paired t interval breaches.
        paired_t_coverage: Coverage of the paired t interval.
        effective_discordant: Mean of Σ change² / max change²: discordant clusters counted by their size.
    """

    metric: str
    clusters: int
    loss: float
    flip_rate: float
    repetitions: int
    passed: float
    breached: float
    coverage: float
    missed_high: float
    missed_low: float
    paired_t_passed: float
    paired_t_breached: float
    paired_t_coverage: float
    effective_discordant: float


def grid(repetitions: int, seed: int) -> list[Cell]:
    """Every cell whose flip rate can produce its loss, the costly ones first."""
    cells = [
        Cell(model.name, clusters, loss, flip_rate, repetitions, seed)
        for model in MODELS
        for clusters in model.clusters
        for loss in LOSSES
        for flip_rate in (FLIP_RATES if clusters < model.few_flip_rates_from else FEW_FLIP_RATES)
        if model.possible(loss, flip_rate)
    ]
    return sorted(cells, key=lambda cell: -cell.clusters)


def simulate_cell(cell: Cell) -> CellResult:
    """Draw the repetitions of one cell and count verdicts and intervals."""
    index = [model.name for model in MODELS].index(cell.metric)
    key = [cell.seed, index, cell.clusters, round(cell.loss * 1e4), round(cell.flip_rate * 1e4)]
    generator = np.random.default_rng(key)
    parts = [_outcomes(MODELS[index], cell, generator, size) for size in _chunks(cell.repetitions, cell.clusters)]
    columns = np.concatenate(parts, axis=1)
    rates = [float(rate) for rate in columns.mean(axis=1)]
    return CellResult(
        cell.metric,
        cell.clusters,
        cell.loss,
        cell.flip_rate,
        cell.repetitions,
        passed=rates[0],
        breached=rates[1],
        coverage=1 - rates[2] - rates[3],
        missed_high=rates[2],
        missed_low=rates[3],
        paired_t_passed=rates[4],
        paired_t_breached=rates[5],
        paired_t_coverage=1 - rates[6] - rates[7],
        effective_discordant=rates[8],
    )


def _outcomes(
    model: OutcomeModel, cell: Cell, generator: np.random.Generator, repetitions: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    stack = model.draw(generator, repetitions, cell.clusters, cell.loss, cell.flip_rate)
    critical = critical_score(CONFIDENCE)
    rows = []
    paired_t = []
    for loss in (BUDGET, cell.loss):
        if loss != BUDGET or not rows:
            found = stack.score(np.full(repetitions, loss), "relative")
            claims = claims_of(found, stack.right_or_wrong)
        rows += [claims.below <= -critical, claims.above > critical]
        paired_t += [found.studentised <= -critical, found.studentised > critical]
    rows[0] &= unseen_loss(stack, "relative", CONFIDENCE) <= BUDGET
    change = np.abs(stack.baseline - stack.candidate)
    count = np.ones_like(change) if stack.multiplicity is None else stack.multiplicity
    largest = (change * (count > 0)).max(axis=1)
    discordant = (count * change**2).sum(axis=1) / np.where(largest > 0, largest, 1.0) ** 2
    return np.array([*rows, *paired_t, discordant], dtype=float)


def _chunks(repetitions: int, clusters: int) -> Iterator[int]:
    size = max(1, _VALUES_AT_ONCE // clusters)
    for start in range(0, repetitions, size):
        yield min(size, repetitions - start)


def simulate(cells: list[Cell], processes: int, *, progress: bool = False) -> list[dict[str, float | str]]:
    """Simulate the cells in parallel; results sorted by metric, clusters, loss and flip rate."""
    results: list[CellResult] = []
    started = time.monotonic()
    with get_context("spawn").Pool(processes) as pool:
        for done, result in enumerate(pool.imap_unordered(simulate_cell, cells), start=1):
            results.append(result)
            if progress and done % 20 == 0:
                passed = time.monotonic() - started
                remaining = passed / done * (len(cells) - done)
                print(f"{done}/{len(cells)} cells, {passed:.0f} s, about {remaining:.0f} s to go", flush=True)
    order = {model.name: index for index, model in enumerate(MODELS)}
    results.sort(key=lambda r: (order[r.metric], r.clusters, r.loss, r.flip_rate))
    return [asdict(result) for result in results]
