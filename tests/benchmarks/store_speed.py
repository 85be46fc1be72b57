"""How the store and the page hold up: `python tests/benchmarks/store_speed.py [--runs 1000] [--samples 10000]`.

Prints the rate of ingest, the matrix query over all runs beside the same query over the raw JSON lines, and what the
server takes for the list of runs, a history, and the pages. With `--json FILE` the figures are written there too.

The runs are real in every file, but share few sample logs: `--logs` distinct ones are written, and each run has links
to one of them and a `run.json` of its own. Reading 1,000 × 10,000 samples is what is measured; making them is not.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parents[1] / "leaderboard"))

from synthetic_run import planted_regression, samples, with_noise, write_run
from tliveomni_eval.evals.logs.run_info import read_run_info
from tliveomni_eval.leaderboard.server.app import create_app
from tliveomni_eval.leaderboard.store.catalogue import open_catalogue, rows
from tliveomni_eval.leaderboard.store.run_store import RunStore

MATRIX_QUERY = """SELECT run_id, attribute, value, num / den AS rate FROM results
                  WHERE headline AND task = 'live_ocr' AND den > 0"""
START = datetime(2026, 1, 1, tzinfo=UTC)
VARIANTS = ("bf16", "fp8", "w8a8", "w4a16")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=10_000, help="of each run")
    parser.add_argument("--logs", type=int, default=8, help="distinct sample logs")
    parser.add_argument("--scratch", type=Path, help="folder for the runs and the store; it needs a few GB")
    parser.add_argument("--json", type=Path, help="also write the figures into this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.scratch) as scratch:
        figures = measure(Path(scratch), given.runs, given.samples, given.logs)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def measure(folder: Path, runs: int, size: int, logs: int) -> dict[str, float]:
    """All figures: name to seconds, rates to a second."""
    paths = write_runs(folder / "runs", runs, size, logs)
    store = RunStore(folder / "store")
    figures: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Any]) -> None:
        began = time.perf_counter()
        work()
        figures[name] = time.perf_counter() - began
        print(f"{name:34}{figures[name]:10.3f} s", flush=True)

    timed("ingest", lambda: list(store.add_all(paths)))
    figures |= {"runs a second": runs / figures["ingest"], "samples a second": runs * size / figures["ingest"]}
    print(f"{'':34}{figures['runs a second']:10.1f} runs/s, {figures['samples a second']:,.0f} samples/s")
    timed("matrix query, store", lambda: matrix_of_store(store))
    timed("matrix query, raw JSON lines", lambda: matrix_of_logs(folder / "runs"))
    client = TestClient(create_app(store), base_url="http://127.0.0.1")
    timed("list of runs", lambda: client.get("/api/runs").raise_for_status())
    price = {"task": "live_ocr", "attribute": "field", "value": "price"}
    timed("history of a slice", lambda: client.get("/api/history", params=price).raise_for_status())
    timed("matrix page, never built before", lambda: client.get("/").raise_for_status())
    timed("matrix page, built", lambda: client.get("/").raise_for_status())
    task = client.get("/").text.split('"api":"')[1].split('"')[0] + "/tasks/0"
    timed("samples of a task, never built", lambda: client.get(f"/{task}").raise_for_status())
    timed("samples of a task, built", lambda: client.get(f"/{task}").raise_for_status())
    return figures


def write_runs(folder: Path, runs: int, size: int, logs: int) -> list[Path]:
    """Releases of four variants, the last third of `w4a16` with the planted regression."""
    data = samples(size)
    base = with_noise(0.05)
    originals = {
        (variant, seed): write_run(
            folder.parent / "originals" / str(seed),
            variant,
            data,
            planted_regression(base) if variant == "w4a16" and 3 * seed >= 2 * logs else base,
            seed=seed,
        )
        for seed in range(logs)
        for variant in (VARIANTS if seed == 0 or 3 * seed >= 2 * logs else VARIANTS[:1])
    }
    paths = []
    for number in range(runs):
        variant = VARIANTS[number % len(VARIANTS)]
        seed = number * logs // runs
        original = originals.get((variant, seed), originals[VARIANTS[0], seed])
        run = folder / f"{number:04d}" / variant
        for path in original.rglob("*"):
            if path.is_file() and path.name != "run.json":
                target = run / path.relative_to(original)
                target.parent.mkdir(parents=True, exist_ok=True)
                os.link(path, target)
        info = read_run_info(original / "run.json")
        start = START + timedelta(hours=number)
        info.model_copy(
            update={"name": variant, "variant": variant, "start": start, "end": start + timedelta(minutes=5)}
        ).write(run)
        paths.append(run)
    return paths


def matrix_of_store(store: RunStore) -> dict[tuple[str, str, str], float]:
    """Run, attribute and value to the rate, from the catalogue; both names are empty for the whole task."""
    with open_catalogue(store.folder) as catalogue:
        found = rows(catalogue, MATRIX_QUERY)
    return {(row["run_id"], row["attribute"] or "", row["value"] or ""): row["rate"] for row in found}


def matrix_of_logs(folder: Path) -> dict[tuple[str, str, str], float]:
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
    return {place: num / den for place, (num, den) in sums.items() if den > 0}


if __name__ == "__main__":
    main()
