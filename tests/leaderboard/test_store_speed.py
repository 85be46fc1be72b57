"""The benchmark of the store, tiny: it runs, and both of its matrix queries say the same."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from store_speed import matrix_of_logs, matrix_of_store, measure
from tliveomni_eval.leaderboard.store.run_store import RunStore


def test_the_store_and_the_logs_give_the_same_matrix(tmp_path: Path) -> None:
    figures = measure(tmp_path, runs=6, size=96, logs=2)
    assert all(seconds > 0 for seconds in figures.values())
    store = RunStore(tmp_path / "store")
    assert len(store.runs()) == 6
    assert len({run.started for run in store.runs()}) == 6
    of_store, of_logs = matrix_of_store(store), matrix_of_logs(tmp_path / "runs")
    assert len(of_store) == 6 * 14
    assert sorted(of_store.values()) == sorted(of_logs.values())
