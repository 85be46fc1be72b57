"""How the store holds up: `python tests/leaderboard/benchmark_store.py [RUNS] [SAMPLES]` (default 1000 runs of 100).

Prints the rate of ingest, the time of the matrix query over all runs beside the same query over the raw JSON lines, and
the time of the history and of the first and second page of a comparison.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from synthetic_run import samples, with_noise, write_run
from tliveomni_eval.leaderboard.server.app import create_app
from tliveomni_eval.leaderboard.store.catalogue import open_catalogue, rows
from tliveomni_eval.leaderboard.store.run_store import RunStore

MATRIX_QUERY = """SELECT run_id, attribute, value, num / den AS rate FROM results
                  WHERE headline AND task = 'live_ocr' AND den > 0"""


def main(runs: int, size: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        data = samples(size)
        start = datetime(2026, 1, 1, tzinfo=UTC)
        for number in range(runs):
            place = folder / "runs" / f"{number:04d}"
            name = "bf16" if number % 4 == 0 else f"w{number % 4}"
            write_run(place, name, data, with_noise(0.05), seed=number, start=start + timedelta(hours=number))
        store = RunStore(folder / "store")
        paths = sorted((folder / "runs").glob("*/*"))
        began = time.perf_counter()
        for path in paths:
            store.add(path)
        seconds = time.perf_counter() - began
        rate = f"{runs / seconds:.1f} runs/s, {runs * size / seconds:.0f} samples/s"
        print(f"ingest         {runs} runs x {size} samples: {rate}")
        timed("matrix, store ", lambda: query(store))
        timed("matrix, JSONL ", lambda: query_json_lines(folder / "runs"))
        client = TestClient(create_app(store), base_url="http://127.0.0.1")
        timed("list of runs  ", lambda: client.get("/api/runs").raise_for_status())
        price = {"task": "live_ocr", "attribute": "field", "value": "price"}
        timed("history       ", lambda: client.get("/api/history", params=price).raise_for_status())
        timed("page, first   ", lambda: client.get("/").raise_for_status())
        timed("page, again   ", lambda: client.get("/").raise_for_status())


def query(store: RunStore) -> int:
    with open_catalogue(store.folder) as catalogue:
        return len(rows(catalogue, MATRIX_QUERY))


def query_json_lines(folder: Path) -> int:
    """The same numbers from the logs themselves."""
    sums: dict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for log in folder.rglob("*_samples_live_ocr.jsonl"):
        with log.open(encoding="utf-8") as lines:
            for line in lines:
                sample = json.loads(line)
                counts = sample["field_exact"]
                for attribute, value in (("", ""), *sample["record"]["slices"].items()):
                    entry = sums[str(log), attribute, value]
                    entry[0] += counts["num"]
                    entry[1] += counts["den"]
    return len(sums)


def timed(name: str, work: Callable[[], Any]) -> None:
    began = time.perf_counter()
    work()
    print(f"{name} {time.perf_counter() - began:8.3f} s")


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + [1000, 100][len(given) :]))
