"""Reads one sample log of any of the three formats into columns."""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.logs.json_lines import JsonLine, read_json_lines
from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.log_files import LogFile
from tliveomni_eval.evals.logs.results_file import ResultsFile
from tliveomni_eval.evals.logs.sample_counts import SampleCounts, declared_counts, scalar_counts
from tliveomni_eval.evals.logs.task_log import Categories, LogFormat, MetricColumn, TaskLog
from tliveomni_eval.evals.record import STATUSES

MOST_SLICE_VALUES = 1000
"""Distinct values of one slice attribute; more is an identifier, not a slice."""

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
    columns = _Columns(log.path)
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
        clusters=Categories.of(columns.clusters if log_format == "tlive" else ids),
        slices=columns.slice_categories(),
        statuses=Categories.of(columns.statuses),
        target_hashes=np.frombuffer(columns.target_hashes, np.uint64),
        prompt_hashes=np.frombuffer(columns.prompt_hashes, np.uint64),
        line_numbers=np.frombuffer(columns.line_numbers, np.int64),
        line_offsets=np.frombuffer(columns.line_offsets, np.int64),
        settings=results.settings(log.task),
    )


class _Columns:
    """Columns while they grow, one entry a sample."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keys: dict[Any, int] = {}
        self.clusters: list[str] = []
        self.statuses: list[str] = []
        self.slices: dict[str, dict[int, str]] = {}
        self.target_hashes = array("Q")
        self.prompt_hashes = array("Q")
        self.content_hashes = array("Q")
        self.line_numbers = array("q")
        self.line_offsets = array("q")
        self.counts: dict[str, list[tuple[int, SampleCounts]]] = defaultdict(list)
        self.refused: dict[str, LogError] = {}

    def add_sample(self, key: Any, line: JsonLine, status: str) -> int:
        """Adds a sample and returns its position."""
        position = len(self.keys)
        self.keys[key] = position
        self.statuses.append(status)
        row = line.value
        prompt = row.get("prompt_hash") or row.get("input", row.get("arguments"))
        target_hash = _hash64(row.get("target"))
        prompt_hash = _hash64(prompt)
        document = row.get("doc_hash") if "prompt_hash" in row else prompt
        self.target_hashes.append(target_hash)
        self.prompt_hashes.append(prompt_hash)
        self.content_hashes.append(prompt_hash if document is prompt else _hash64(document))
        self.line_numbers.append(line.number)
        self.line_offsets.append(line.offset)
        return position

    def line_of(self, key: Any) -> int:
        return self.line_numbers[self.keys[key]]

    def content_ids(self) -> tuple[str, ...]:
        """Ids that say what was asked: the same document and reference have the same id in every run.

        The n-th sample of equal content, in the order of `doc_id`, gets the suffix `#n`.
        """
        doc_ids = list(self.keys)
        order: Iterable[int] = range(len(doc_ids))
        if all(isinstance(doc_id, int) for doc_id in doc_ids):
            order = sorted(order, key=doc_ids.__getitem__)
        seen: dict[str, int] = {}
        ids = [""] * len(doc_ids)
        for position in order:
            content = f"{self.content_hashes[position]:016x}{self.target_hashes[position]:016x}"
            seen[content] = repetition = seen.get(content, 0) + 1
            ids[position] = content if repetition == 1 else f"{content}#{repetition}"
        return tuple(ids)

    def metric(self, name: str, higher_is_better: bool | None) -> MetricColumn:
        n = len(self.keys)
        num, den = np.zeros(n), np.zeros(n)
        present = np.zeros(n, dtype=bool)
        counts = self.counts[name]
        positions = np.fromiter((position for position, _ in counts), np.intp, len(counts))
        num[positions] = [count.num for _, count in counts]
        den[positions] = [count.den for _, count in counts]
        present[positions] = True
        payloads: list[Any] | None = None
        if any(count.payload is not None for _, count in counts):
            payloads = [None] * n
            for position, count in counts:
                payloads[position] = count.payload
        return MetricColumn(num, den, present, higher_is_better, None if payloads is None else tuple(payloads))

    def slice_categories(self) -> dict[str, Categories]:
        found: dict[str, Categories] = {}
        for attribute, values in self.slices.items():
            codes: NDArray[np.int32] = np.full(len(self.keys), -1, np.int32)
            index: dict[str, int] = {}
            for position, value in values.items():
                codes[position] = index.setdefault(value, len(index))
            if len(index) > MOST_SLICE_VALUES:
                line = self.line_numbers[next(iter(values))]
                raise LogError(
                    f"slice attribute {attribute!r} has {len(index)} values, more than {MOST_SLICE_VALUES}: "
                    "an identifier is not a slice; put ranges (`60-300`) in place of numbers",
                    self.path,
                    line,
                )
            found[attribute] = Categories(codes, tuple(index))
        return found


def _chained(first: JsonLine, rest: Iterable[JsonLine]) -> Iterable[JsonLine]:
    yield first
    yield from rest


def _read_records(lines: Iterable[JsonLine], columns: _Columns) -> None:
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
        columns.clusters.append(_text(record, "cluster", path, line.number))
        slices = record.get("slices", {})
        if not isinstance(slices, dict):
            raise LogError(f"record.slices must be an object, got {str(slices)[:60]!r}", path, line.number)
        for attribute, value in slices.items():
            if value is not None:
                columns.slices.setdefault(attribute, {})[position] = _slice_value(attribute, value, path, line.number)
        for name, value in line.value.items():
            if name not in _RESERVED:
                counts = declared_counts(name, value, sample_id, path, line.number)
                if counts is not None:
                    columns.counts[name].append((position, counts))


def _read_foreign_samples(lines: Iterable[JsonLine], columns: _Columns, log: LogFile, results: ResultsFile) -> None:
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
                columns.counts[name + suffix].append((position, counts))


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


def _check_complete(columns: _Columns, log: LogFile, results: ResultsFile) -> None:
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


def _hash64(value: Any) -> int:
    if value is None:
        return 0
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
