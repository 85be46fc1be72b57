"""One task of one run as a Parquet file, and back as the log that the gate and the page read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tliveomni_eval.evals.logs.task_log import Categories, MetricColumn, TaskLog
from tliveomni_eval.leaderboard.logged_sample import answer_text, output_tokens, prompt_text, reference_text
from tliveomni_eval.leaderboard.store.store_error import StoreError

_FACTS = b"tlive"
_TEXT_COLUMNS = ("prompt", "reference", "output", "detail", "media")


@dataclass(frozen=True, eq=False, slots=True)
class StoredTaskLog(TaskLog):
    """A task log whose samples come from the store: the folder of the run may be gone."""

    def sample(self, position: int) -> dict[str, Any]:
        """The sample in the shape of a log line, as far as the page shows it."""
        row = _text_rows(self.path)[position]
        line: dict[str, Any] = {
            "target": row["reference"],
            "input": row["prompt"],
            "filtered_resps": row["output"],
            "input_media": row["media"],
            "record": {"detail": json.loads(row["detail"])},
        }
        if row["tokens"] is not None:
            line["token_counts"] = [{"output_tokens": row["tokens"]}]
        return line


def write_sample_table(log: TaskLog, path: Path, media_names: Callable[[Mapping[str, Any]], Sequence[str]]) -> None:
    """Writes the samples of a task.

    Args:
        log: The task.
        path: The Parquet file to write.
        media_names: What names the media of a logged sample in the store.

    Raises:
        LogError: If the log changed since it was read.
        OSError: If the file cannot be written.
    """
    lines = [log.sample(position) for position in range(len(log))]
    columns: dict[str, Any] = {
        "id": pa.array(log.ids, pa.string()),
        "cluster": _strings(log.clusters),
        "status": _strings(log.statuses),
        "target_hash": pa.array(log.target_hashes, pa.uint64()),
        "prompt_hash": pa.array(log.prompt_hashes, pa.uint64()),
        "prompt": pa.array([_utf8(prompt_text(line)) for line in lines], pa.string()),
        "reference": pa.array([_utf8(reference_text(line)) for line in lines], pa.string()),
        "output": pa.array([_utf8(answer_text(line)) for line in lines], pa.string()),
        "detail": pa.array([_detail_json(line) for line in lines], pa.string()),
        "tokens": pa.array([output_tokens(line) for line in lines], pa.int64()),
        "media": pa.array([list(media_names(line)) for line in lines], pa.list_(pa.string())),
    }
    for index, values in enumerate(log.slices.values()):
        columns[f"slice_{index}"] = _strings(values)
    for index, column in enumerate(log.metrics.values()):
        columns[f"num_{index}"] = pa.array(column.num, pa.float64(), mask=~column.present)
        columns[f"den_{index}"] = pa.array(column.den, pa.float64(), mask=~column.present)
        if column.payloads is not None:
            columns[f"payload_{index}"] = pa.array([json.dumps(payload) for payload in column.payloads], pa.string())
    facts = {
        "task": log.name,
        "log_format": log.log_format,
        "headline": log.headline,
        "slices": list(log.slices),
        "metrics": [
            {"name": name, "higher_is_better": column.higher_is_better} for name, column in log.metrics.items()
        ],
        "settings": log.settings,
    }
    table = pa.table(columns).replace_schema_metadata({_FACTS: json.dumps(facts, default=str).encode()})
    pq.write_table(table, path, compression="zstd")


def read_sample_table(path: Path) -> StoredTaskLog:
    """Reads the columns that the gate needs; texts are read when a sample is asked for.

    Raises:
        StoreError: If the file is gone or is none of the store.
    """
    try:
        schema = pq.read_schema(path)
        facts = json.loads((schema.metadata or {})[_FACTS])
        table = pq.read_table(path, columns=[name for name in schema.names if name not in (*_TEXT_COLUMNS, "tokens")])
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise StoreError(f"{path}: not readable as samples of the store: {error}") from error
    n = table.num_rows
    return StoredTaskLog(
        name=facts["task"],
        path=path,
        log_format=facts["log_format"],
        headline=facts["headline"],
        metrics={metric["name"]: _metric(table, index, metric) for index, metric in enumerate(facts["metrics"])},
        refused_metrics={},
        ids=tuple(table["id"].to_pylist()),
        clusters=Categories.of(table["cluster"].to_pylist()),
        slices={name: Categories.of(table[f"slice_{index}"].to_pylist()) for index, name in enumerate(facts["slices"])},
        statuses=Categories.of(table["status"].to_pylist()),
        target_hashes=table["target_hash"].to_numpy().astype(np.uint64),
        prompt_hashes=table["prompt_hash"].to_numpy().astype(np.uint64),
        line_numbers=np.arange(1, n + 1),
        line_offsets=np.zeros(n, dtype=np.int64),
        settings=facts["settings"],
    )


def _metric(table: pa.Table, index: int, metric: Mapping[str, Any]) -> MetricColumn:
    num, den = table[f"num_{index}"], table[f"den_{index}"]
    payloads = None
    if f"payload_{index}" in table.column_names:
        payloads = tuple(json.loads(text) for text in table[f"payload_{index}"].to_pylist())
    return MetricColumn(
        num=num.fill_null(0.0).to_numpy(),
        den=den.fill_null(0.0).to_numpy(),
        present=num.is_valid().to_numpy(),
        higher_is_better=metric["higher_is_better"],
        payloads=payloads,
    )


@lru_cache(maxsize=12)
def _rows_of_version(path: Path, changed_ns: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path, columns=[*_TEXT_COLUMNS, "tokens"]).to_pylist()
    return rows


def _text_rows(path: Path) -> list[dict[str, Any]]:
    """The texts of a file; the last few files are kept, because a page asks for all samples of some runs in turn."""
    try:
        return _rows_of_version(path, path.stat().st_mtime_ns)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from error


def _strings(values: Categories) -> pa.Array:
    return pa.array(
        [values.values[code] if code >= 0 else None for code in values.codes], pa.string()
    ).dictionary_encode()


def _detail_json(line: Mapping[str, Any]) -> str:
    record = line.get("record")
    detail = record.get("detail") if isinstance(record, Mapping) else None
    # A lone surrogate stays an escape in JSON; `media` is replaced by what the store knows of them.
    kept = {key: value for key, value in detail.items() if key != "media"} if isinstance(detail, Mapping) else {}
    return json.dumps(kept)


def _utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
