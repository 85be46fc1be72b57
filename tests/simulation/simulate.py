"""Run the whole simulation: `make simulate` writes the results and their plot to docs/."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chart import chart
from exact_noninferiority import pass_power
from operating_characteristics import BUDGET, CONFIDENCE, FLIP_RATES, grid, simulate
from requirements_met import violations

Rows = list[dict[str, Any]]

_POWER_CLUSTERS = (200, 300, 500, 1000, 2000, 5000)


def main() -> int:
    """Simulate, write, and report; the exit status is 1 where a requirement is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000, help="pairs of runs a cell")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--output", type=Path, default=Path("docs"))
    options = parser.parse_args()
    # One thread a process: the processes fill the cores.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    started = time.monotonic()
    cells = simulate(grid(options.repetitions, options.seed), options.processes, progress=True)
    power = [
        asdict(pass_power(clusters, flip_rate, BUDGET, CONFIDENCE))
        for clusters in _POWER_CLUSTERS
        for flip_rate in FLIP_RATES
    ]
    missed = write_results(cells, power, options.output, repetitions=options.repetitions, seed=options.seed)
    print(f"{len(cells)} cells, {options.repetitions} repetitions each, {time.monotonic() - started:.0f} s")
    print("\n".join(["Every requirement holds."] if not missed else ["Missed:", *missed]))
    return int(bool(missed))


def write_results(cells: Rows, power: Rows, output: Path, *, repetitions: int, seed: int) -> list[str]:
    """Write the results and their plot, rates to four digits; returns the requirements that are missed."""
    cells, power = [_rounded(row) for row in cells], [_rounded(row) for row in power]
    missed = violations(cells, power, BUDGET)
    settings = {
        "budget": BUDGET,
        "confidence": CONFIDENCE,
        "repetitions": repetitions,
        "seed": seed,
        "missed": missed,
    }
    lines = [",\n    ".join(json.dumps(row) for row in rows) for rows in (cells, power)]
    text = (
        f'{{\n  "settings": {json.dumps(settings)},\n  "cells": [\n    {lines[0]}\n  ],\n'
        f'  "pass_power": [\n    {lines[1]}\n  ]\n}}\n'
    )
    (output / "operating_characteristics.json").write_text(text, encoding="utf-8")
    (output / "operating_characteristics.svg").write_text(chart(cells, BUDGET), encoding="utf-8")
    return missed


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {key: round(float(value), 4) if isinstance(value, float) else value for key, value in row.items()}


if __name__ == "__main__":
    sys.exit(main())
