"""The log of one task in columns: what the gate and the viewer need, and nothing that grows with an output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.logs.json_lines import read_json_line_at
from tliveomni_eval.evals.logs.log_error import LogError

if TYPE_CHECKING:
    import pandas as pd

LogFormat = Literal["tlive", "lmms-eval", "lm-eval"]
"""Who wrote a sample log: a task with our records, any other task of lmms-eval, or lm-evaluation-harness."""


@dataclass(frozen=True, eq=False, slots=True)
class Categories:
    """One string a sample, stored once a value.

    Attributes:
        codes: For each sample the index of its value in `values`; -1 where the sample has none. Shape (n,), int32.
        values: The distinct values in order of first appearance.
    """

    codes: NDArray[np.int32]
    values: tuple[str, ...]

    @classmethod
    def of(cls, strings: Sequence[str | None]) -> Categories:
        """Encodes one string (or None) a sample."""
        index: dict[str, int] = {}
        codes = np.fromiter(
            (-1 if text is None else index.setdefault(text, len(index)) for text in strings), np.int32, len(strings)
        )
        return cls(codes, tuple(index))

    def counts(self) -> dict[str, int]:
        """Number of samples of each value, in the order of `values`."""
        counted = np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))
        return dict(zip(self.values, counted.tolist(), strict=True))


@dataclass(frozen=True, eq=False, slots=True)
class MetricColumn:
    """Sufficient statistics of one metric, one a sample.

    Attributes:
        num: Numerators, finite and ≥ 0; 0 where the metric is absent. Shape (n,).
        den: Denominators, finite and ≥ 0; 0 where the metric is absent. Shape (n,).
        present: Whether the sample has the metric: not every metric applies to every sample. Shape (n,).
        higher_is_better: Declared by the task; None where the log does not say.
        payloads: What a set metric (AP) or a group metric (CircularEval) logged of each sample, with its `kind`; None
            for a ratio metric.
    """

    num: NDArray[np.float64]
    den: NDArray[np.float64]
    present: NDArray[np.bool_]
    higher_is_better: bool | None
    payloads: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class TaskLog:
    """All samples of one task in one run.

    Attributes:
        name: Task name.
        path: The sample log.
        log_format: Who wrote it.
        headline: The metric the task is judged by: declared in its metadata, else the first that the task lists.
        metrics: Metric name to its counts; `metric,filter` where the task has several filters.
        refused_metrics: Metric name to what forbids its use as a ratio (negative, not a number), with the line.
        ids: Unique within the task; samples of two runs are paired by them.
        clusters: Cluster of each sample.
        slices: Attribute to the value of each sample.
        statuses: Status of each sample.
        target_hashes: 64-bit hash of each reference, to notice other data.
        prompt_hashes: 64-bit hash of each rendered prompt, to notice other prompts.
        settings: What the task was run with: `version`, `num_fewshot`, `generation_kwargs`, `metadata`.
        line_numbers: Line of each sample in the file, from 1.
        line_offsets: Byte position of that line.
    """

    name: str
    path: Path
    log_format: LogFormat
    headline: str
    metrics: Mapping[str, MetricColumn]
    refused_metrics: Mapping[str, LogError]
    ids: tuple[str, ...]
    clusters: Categories
    slices: Mapping[str, Categories]
    statuses: Categories
    target_hashes: NDArray[np.uint64]
    prompt_hashes: NDArray[np.uint64]
    line_numbers: NDArray[np.int64]
    line_offsets: NDArray[np.int64]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def metric(self, name: str) -> MetricColumn:
        """The counts of a metric.

        Raises:
            LogError: If the log has no such metric, or its values cannot be used; the message names file and line.
        """
        if name in self.metrics:
            return self.metrics[name]
        if name in self.refused_metrics:
            raise self.refused_metrics[name]
        known = ", ".join([*self.metrics, *self.refused_metrics]) or "none"
        raise LogError(f"task {self.name!r} has no metric {name!r}; it has {known}", self.path)

    def sample(self, position: int) -> dict[str, Any]:
        """The whole logged object of one sample, read from the file when asked for.

        Args:
            position: Index into `ids`.

        Raises:
            LogError: If the file is gone or has changed.
        """
        return read_json_line_at(self.path, int(self.line_offsets[position]), int(self.line_numbers[position]))

    def slice_frame(self) -> pd.DataFrame:
        """One row a sample (index: id), one categorical column an attribute."""
        import pandas as pd

        columns = {
            attribute: pd.Categorical.from_codes(values.codes, categories=pd.Index(values.values))
            for attribute, values in self.slices.items()
        }
        return pd.DataFrame(columns, index=pd.Index(self.ids, name="id"))
