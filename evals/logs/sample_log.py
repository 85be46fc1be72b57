"""Reads one sample log of any of the three formats into columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tliveomni_eval.evals.logs.json_lines import JsonLine, read_json_lines
from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.log_files import LogFile
from tliveomni_eval.evals.logs.results_file import ResultsFile
from tliveomni_eval.evals.logs.sample_columns import SampleColumns
from tliveomni_eval.evals.logs.sample_counts import declared_counts, scalar_counts
from tliveomni_eval.evals.logs.task_log import Categories, LogFormat, MetricColumn, TaskLog
from tliveomni_eval.evals.record import STATUSES

_RESERVED = {"doc_id", "doc", "target", "arguments", "input", "input_media", "resps", "filtered_resps", "filter"}
_RESERVED |= {"metrics", "doc_hash", "prompt_hash", "target_hash", "token_counts", "record"}


def read_sample_log(log: LogFile, results: ResultsFile) -> TaskLog:
    """Reads the samples of one task.

    Args:
        log: A sample log; its `task` is set.
        results: The results file of the same run.

    Returns:
        The task in columns, samples in the order of the file.

    Raises:
        LogError: If a line cannot be trusted, a sample appears twice, samples are missing or no metric can be used.
    """
    assert log.task is not None
    columns = SampleColumns(log.path)
    lines = read_json_lines(log.path)
    first = next(lines, None)
    if first is None:
        raise LogError(f"no samples: task {log.task!r} was not evaluated", log.path)
    log_format: LogFormat = "tlive" if isinstance(first.value.get("record"), dict) else log.writer
    if log_format == "tlive":
        _read_records(_chained(first, lines), columns)
        ids = tuple(columns.keys)
    else:
        _read_foreign_samples(_chained(first, lines), columns, log, results)
        ids = columns.content_ids()
    _check_complete(columns, log, results)
    directions = results.higher_is_better(log.task)
    metrics = {name: columns.metric(name, directions.get(name.partition(",")[0])) for name in columns.counts}
    usable = {name: column for name, column in metrics.items() if name not in columns.refused}
    return TaskLog(
        name=log.task,
        path=log.path,
        log_format=log_format,
        headline=_headline(log, results, usable, columns.refused),
        metrics=usable,
        refused_metrics=dict(columns.refused),
        ids=ids,
        clusters=columns.clusters.categories(len(ids)) if log_format == "tlive" else Categories.of(ids),
        slices=columns.slice_categories(),
        statuses=columns.statuses.categories(len(ids)),
        target_hashes=np.frombuffer(columns.target_hashes, np.uint64),
        prompt_hashes=np.frombuffer(columns.prompt_hashes, np.uint64),
        line_numbers=np.frombuffer(columns.line_numbers, np.int64),
        line_offsets=np.frombuffer(columns.line_offsets, np.int64),
        settings=results.settings(log.task),
    )


def _chained(first: JsonLine, rest: Iterable[JsonLine]) -> Iterable[JsonLine]:
    yield first
    yield from rest


def _read_records(lines: Iterable[JsonLine], columns: SampleColumns) -> None:
    path = columns.path
    for line in lines:
        record = line.value.get("record")
        if not isinstance(record, dict):
            raise LogError("has no `record`, though earlier lines have one", path, line.number)
        sample_id = _text(record, "id", path, line.number)
        if sample_id in columns.keys:
            raise LogError(
                f"sample {sample_id!r} appears twice (first on line {columns.line_of(sample_id)})", path, line.number
            )
        status = _text(record, "status", path, line.number)
        if status not in STATUSES:
            raise LogError(f"record.status must be one of {', '.join(STATUSES)}, got {status!r}", path, line.number)
        position = columns.add_sample(sample_id, line, status)
        columns.clusters.add(position, _text(record, "cluster", path, line.number))
        slices = record.get("slices", {})
        if not isinstance(slices, dict):
            raise LogError(f"record.slices must be an object, got {str(slices)[:60]!r}", path, line.number)
        for attribute, value in slices.items():
            if value is not None:
                columns.slices[attribute].add(position, _slice_value(attribute, value, path, line.number))
        for name, value in line.value.items():
            if name not in _RESERVED:
                counts = declared_counts(name, value, sample_id, path, line.number)
                if counts is not None:
                    columns.counts[name].add(position, counts)


def _read_foreign_samples(
    lines: Iterable[JsonLine], columns: SampleColumns, log: LogFile, results: ResultsFile
) -> None:
    assert log.task is not None
    filters = results.filters(log.task)
    listed = results.metric_names(log.task)
    seen: dict[tuple[Any, str], int] = {}
    occurrences: dict[Any, int] = {}
    for line in lines:
        row = line.value
        if "record" in row and isinstance(row["record"], dict):
            raise LogError("has a `record`, though earlier lines have none", columns.path, line.number)
        doc_id = row.get("doc_id")
        if not isinstance(doc_id, int | str):
            raise LogError(f"doc_id must be a number or a text, got {str(doc_id)[:60]!r}", columns.path, line.number)
        turn = occurrences.get(doc_id, 0)
        occurrences[doc_id] = turn + 1
        filter_name = row.get("filter")
        if not isinstance(filter_name, str):
            filter_name = filters[turn] if turn < len(filters) else filters[-1]
        if (doc_id, filter_name) in seen:
            first = seen[doc_id, filter_name]
            raise LogError(
                f"sample with doc_id {doc_id!r} appears twice (first on line {first})", columns.path, line.number
            )
        seen[doc_id, filter_name] = line.number
        position = columns.keys.get(doc_id)
        if position is None:
            position = columns.add_sample(doc_id, line, _foreign_status(row))
        suffix = f",{filter_name}" if len(filters) > 1 else ""
        for name in _foreign_metric_names(row, listed):
            try:
                counts = scalar_counts(name, row[name], columns.path, line.number)
            except LogError as error:
                columns.refused.setdefault(name + suffix, error)
            else:
                columns.counts[name + suffix].add(position, counts)


def _foreign_metric_names(row: Mapping[str, Any], listed: tuple[str, ...]) -> Iterable[str]:
    logged = row.get("metrics")
    if isinstance(logged, list) and logged:
        return [name for name in logged if isinstance(name, str) and name in row]
    if listed:
        return [name for name in listed if name in row]
    return [name for name in row if name not in _RESERVED]


def _foreign_status(row: Mapping[str, Any]) -> str:
    response = row.get("filtered_resps")
    while isinstance(response, list) and len(response) == 1:
        response = response[0]
    return "empty" if isinstance(response, str) and not response.strip() else "ok"


def _check_complete(columns: SampleColumns, log: LogFile, results: ResultsFile) -> None:
    assert log.task is not None
    expected = results.expected_samples(log.task)
    found = len(columns.keys)
    if expected is not None and found < expected:
        raise LogError(
            f"ends after {found} samples where {results.path.name} counts {expected}: the log is not complete",
            log.path,
            columns.line_numbers[-1],
        )


def _headline(
    log: LogFile, results: ResultsFile, usable: Mapping[str, MetricColumn], refused: Mapping[str, LogError]
) -> str:
    assert log.task is not None
    declared = results.metadata(log.task).get("headline")
    if isinstance(declared, str):
        if declared not in usable and declared not in refused:
            raise LogError(f"headline metric {declared!r} of task {log.task!r} is not in the log", log.path, 1)
        return declared
    if usable:
        return next(iter(usable))
    if refused:
        raise next(iter(refused.values()))
    raise LogError(f"no metric with one number a sample in task {log.task!r}", log.path, 1)


def _text(record: Mapping[str, Any], key: str, path: Path, line: int) -> str:
    value = record.get(key)
    if not isinstance(value, str) or not value:
        raise LogError(f"record.{key} must be a text that is not empty, got {str(value)[:60]!r}", path, line)
    return value


def _slice_value(attribute: str, value: Any, path: Path, line: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g}"
    raise LogError(f"slice {attribute!r} must be a text, got {str(value)[:60]!r}", path, line)
