"""The columns of a task log while its lines are read."""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.logs.json_lines import JsonLine
from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.sample_counts import SampleCounts
from tliveomni_eval.evals.logs.task_log import Categories, MetricColumn

MOST_SLICE_VALUES = 1000
"""Distinct values of one slice attribute; more is an identifier, not a slice."""


class _GrowingCategories:
    """One attribute while it grows, without the samples that lack it."""

    __slots__ = ("codes", "index", "positions")

    def __init__(self) -> None:
        self.index: dict[str, int] = {}
        self.positions = array("q")
        self.codes = array("i")

    def add(self, position: int, value: str) -> None:
        """Records the value of one sample."""
        self.positions.append(position)
        self.codes.append(self.index.setdefault(value, len(self.index)))

    def categories(self, n: int) -> Categories:
        """The attribute over all n samples."""
        codes: NDArray[np.int32] = np.full(n, -1, np.int32)
        codes[np.frombuffer(self.positions, np.int64)] = np.frombuffer(self.codes, np.int32)
        return Categories(codes, tuple(self.index))


class _GrowingCounts:
    """One metric while it grows, without the samples that lack it."""

    __slots__ = ("den", "num", "payloads", "positions")

    def __init__(self) -> None:
        self.positions = array("q")
        self.num = array("d")
        self.den = array("d")
        self.payloads: dict[int, Any] = {}

    def add(self, position: int, counts: SampleCounts) -> None:
        """Records the counts of one sample."""
        self.positions.append(position)
        self.num.append(counts.num)
        self.den.append(counts.den)
        if counts.payload is not None:
            self.payloads[position] = counts.payload


class SampleColumns:
    """Columns while they grow, one entry a sample.

    Attributes:
        path: The log.
        keys: Key of each sample (id or `doc_id`) to its position.
        counts: Metric name to the counts of the samples that have it.
        refused: Metric name to the first value that cannot be counted.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keys: dict[Any, int] = {}
        self.clusters = _GrowingCategories()
        self.statuses = _GrowingCategories()
        self.slices: dict[str, _GrowingCategories] = defaultdict(_GrowingCategories)
        self.target_hashes = array("Q")
        self.prompt_hashes = array("Q")
        self.content_hashes = array("Q")
        self.line_numbers = array("q")
        self.line_offsets = array("q")
        self._last_prompt: tuple[Any, int] = (None, 0)
        self.counts: dict[str, _GrowingCounts] = defaultdict(_GrowingCounts)
        self.refused: dict[str, LogError] = {}

    def add_sample(self, key: Any, line: JsonLine, status: str) -> int:
        """Adds a sample and returns its position."""
        position = len(self.keys)
        self.keys[key] = position
        self.statuses.add(position, status)
        row = line.value
        prompt = row.get("prompt_hash") or row.get("input", row.get("arguments"))
        target_hash = _hash64(row.get("target"))
        if prompt is not self._last_prompt[0] and prompt != self._last_prompt[0]:
            self._last_prompt = (prompt, _hash64(prompt))
        prompt_hash = self._last_prompt[1]
        document = row.get("doc_hash") if "prompt_hash" in row else prompt
        self.target_hashes.append(target_hash)
        self.prompt_hashes.append(prompt_hash)
        self.content_hashes.append(prompt_hash if document is prompt else _hash64(document))
        self.line_numbers.append(line.number)
        self.line_offsets.append(line.offset)
        return position

    def line_of(self, key: Any) -> int:
        """Line on which a sample was logged."""
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
        """The counts of one metric, zero where a sample lacks it."""
        n = len(self.keys)
        num, den = np.zeros(n), np.zeros(n)
        present = np.zeros(n, dtype=bool)
        counts = self.counts[name]
        positions = np.frombuffer(counts.positions, np.int64)
        num[positions], den[positions] = np.frombuffer(counts.num), np.frombuffer(counts.den)
        present[positions] = True
        payloads = tuple(map(counts.payloads.get, range(n))) if counts.payloads else None
        return MetricColumn(num, den, present, higher_is_better, payloads)

    def slice_categories(self) -> dict[str, Categories]:
        """Attribute to the value of each sample."""
        found: dict[str, Categories] = {}
        for attribute, values in self.slices.items():
            if len(values.index) > MOST_SLICE_VALUES:
                raise LogError(
                    f"slice attribute {attribute!r} has {len(values.index)} values, more than {MOST_SLICE_VALUES}: "
                    "an identifier is not a slice; put ranges (`60-300`) in place of numbers",
                    self.path,
                    self.line_numbers[values.positions[0]],
                )
            found[attribute] = values.categories(len(self.keys))
        return found


def _hash64(value: Any) -> int:
    """A hash that is the same in every process, unlike Python's own; 0 for None."""
    if value is None:
        return 0
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
