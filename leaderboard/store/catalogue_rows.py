"""Rows of the catalogue: one a run, one a slice and metric of it, one a medium."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from tliveomni_eval.evals.logs.run_info import RUN_INFO_NAME, RunInfo, read_run_info
from tliveomni_eval.evals.logs.task_log import TaskLog
from tliveomni_eval.leaderboard.group_quality import group_counts, is_group_metric
from tliveomni_eval.leaderboard.store.sample_table import read_sample_table
from tliveomni_eval.leaderboard.store.stored_run import read_facts

_RESULTS = ("run_id", "task", "attribute", "value", "metric", "headline", "higher_is_better", "num", "den", "n")
_MEDIA = ("hash", "kind", "mime", "path", "bytes")


@dataclass(frozen=True, eq=False, slots=True)
class RunRows:
    """What the catalogue holds of one run; read before the catalogue is opened, which keeps others out.

    Attributes:
        run: Values of the table `runs`, in the order of its columns.
        results: Values of the table `results`, one list a row.
        media: Values of the table `media`, one list a row.
    """

    run: Sequence[Any]
    results: Sequence[Sequence[Any]]
    media: Sequence[Sequence[Any]]


def read_rows(folder: Path) -> RunRows:
    """Reads what the catalogue holds of a run from its folder in the store, whose name is its id.

    Raises:
        StoreError: If the folder is damaged.
    """
    facts = read_facts(folder)
    info = read_run_info(folder / RUN_INFO_NAME) if (folder / RUN_INFO_NAME).exists() else None
    logs = [read_sample_table(path) for path in sorted(folder.glob("task-*.parquet"))]
    run = [
        folder.name,
        facts["name"],
        info.variant if info else None,
        info.model if info else None,
        info.checkpoint.fingerprint if info else None,
        info.start if info else None,
        info.duration_s if info else None,
        sum(len(log) for log in logs),
        facts["folder"],
        datetime.fromisoformat(facts["added"]),
        _environment(info),
    ]
    return RunRows(run, [[folder.name, *row] for log in logs for row in _summed(log)], facts["media"])


def insert_rows(catalogue: duckdb.DuckDBPyConnection, rows: RunRows) -> None:
    """Puts a run into the catalogue; one that is there stays as it is, with its results made anew."""
    marks = ", ".join("?" * len(rows.run))
    catalogue.execute(f"INSERT OR IGNORE INTO runs VALUES ({marks})", list(rows.run))
    catalogue.execute("DELETE FROM results WHERE run_id = ?", [rows.run[0]])
    inserts = (("INSERT INTO results", _RESULTS, rows.results), ("INSERT OR IGNORE INTO media", _MEDIA, rows.media))
    for insert, columns, values in inserts:
        if values:
            transposed = zip(columns, zip(*values, strict=True), strict=True)
            catalogue.register("new_rows", pa.table({name: list(column) for name, column in transposed}))
            catalogue.execute(f"{insert} SELECT {', '.join(columns)} FROM new_rows")
            catalogue.unregister("new_rows")


def _environment(info: RunInfo | None) -> str:
    return (
        info.model_dump_json(include={"versions", "hardware", "engine_args", "decoding", "data", "prompts"})
        if info
        else "{}"
    )


def _summed(log: TaskLog) -> list[list[Any]]:
    """Counts of every slice and metric; average precision has no sum and is left out."""
    found: list[list[Any]] = []
    for name, column in log.metrics.items():
        if column.payloads is None:
            all_num, all_den = column.num, column.den
        elif is_group_metric(column.payloads):
            all_num, all_den = group_counts(column.payloads)
        else:
            continue
        facts = [name, name == log.headline, column.higher_is_better is not False]
        found.append([log.name, None, None, *facts, float(all_num.sum()), float(all_den.sum()), len(log)])
        for attribute, values in log.slices.items():
            inside = values.codes >= 0
            size = len(values.values)
            codes = values.codes[inside]
            num = np.bincount(codes, all_num[inside], size)
            den = np.bincount(codes, all_den[inside], size)
            n = np.bincount(codes, minlength=size)
            found += [
                [log.name, attribute, value, *facts, float(num[code]), float(den[code]), int(n[code])]
                for code, value in enumerate(values.values)
            ]
    return found
