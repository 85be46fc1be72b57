"""What the simulation must show, and every cell that does not show it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

MOST_FALSE_CLAIMS = 0.05
LEAST_COVERAGE = 0.93
MOST_COVERAGE = 0.98
MOST_POWER_LOST = 0.05
ENOUGH_DISCORDANT = 20
_SIMULATION_ERRORS = 3.0


def violations(cells: Sequence[dict[str, Any]], power: Sequence[dict[str, Any]], budget: float) -> list[str]:
    """One line a requirement that a cell misses by more than three standard errors of its simulation.

    Discordant clusters are counted by their size (Σ change² / max change²): a hundred clusters of which one holds
    nearly the whole change tell as much as one.
    """
    found = []
    for cell in cells:
        name = f"{cell['metric']}, {cell['clusters']} clusters, loss {cell['loss']:.1%}, flips {cell['flip_rate']:.0%}"

        def beyond(value: float, limit: float, repetitions: int = cell["repetitions"]) -> bool:
            return value > limit + _SIMULATION_ERRORS * math.sqrt(limit * (1 - limit) / repetitions)

        if cell["loss"] == budget:
            for field in ("passed", "breached"):
                if beyond(cell[field], MOST_FALSE_CLAIMS):
                    found.append(f"{name}: falsely {field} {cell[field]:.1%}")
        if beyond(1 - cell["coverage"], 1 - LEAST_COVERAGE):
            found.append(f"{name}: coverage {cell['coverage']:.1%}")
        if cell["effective_discordant"] >= ENOUGH_DISCORDANT and beyond(cell["coverage"], MOST_COVERAGE):
            found.append(f"{name}: coverage {cell['coverage']:.1%}, timid")
    for row in power:
        lost = row["exact_test"] - row["gate"]
        if row["expected_discordant"] >= ENOUGH_DISCORDANT and lost > MOST_POWER_LOST:
            found.append(f"{row['clusters']} clusters, flips {row['flip_rate']:.0%}: {lost:.1%} less power than exact")
    return found
