"""The samples of one task over the baseline and all candidates, side by side, as arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.logs.task_log import Categories, MetricColumn, TaskLog
from tliveomni_eval.leaderboard.group_quality import group_counts, is_group_metric
from tliveomni_eval.leaderboard.task_page_data import SliceName

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class PairedSamples:
    """One task, sample by sample.

    Attributes:
        logs: The task's log of each run, baseline first; None where a run lacks the task.
        ids: Ids of all samples: those of the baseline in its order, then those only candidates have. Length n.
        positions: For each run the position of each sample in its log, -1 where it lacks it. Shape (runs, n).
        metrics: Names of the metrics, the headline first.
        higher_is_better: Direction of each metric.
        num: Numerators, shape (runs, metrics, n); 0 where absent.
        den: Denominators, shape (runs, metrics, n); 0 where absent.
        slices: All slices, grouped by attribute, values in their natural order.
        members: Which samples lie in which slice, shape (slices, n).
    """

    logs: Sequence[TaskLog | None]
    ids: Sequence[str]
    positions: NDArray[np.intp]
    metrics: Sequence[str]
    higher_is_better: Sequence[bool]
    num: FloatArray
    den: FloatArray
    slices: Sequence[SliceName]
    members: BoolArray

    def quality(self, run: int, metric: int = 0) -> FloatArray:
        """Quality of each sample in one run, higher is better; NaN where nothing was counted. Shape (n,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(self.den[run, metric] > 0, self.num[run, metric] / self.den[run, metric], np.nan)
        return rate if self.higher_is_better[metric] else 1 - rate

    def change(self, candidate: int) -> FloatArray:
        """Quality of a candidate (0, 1, …) minus that of the baseline; NaN where a run lacks the sample. Shape (n,)."""
        return self.quality(candidate + 1) - self.quality(0)

    def pooled_rate(self, run: int, metric: int, chosen: BoolArray) -> float | None:
        """The metric over some samples, as reported: the sum of `num` over the sum of `den`; None without counts."""
        den = float(self.den[run, metric, chosen].sum())
        return float(self.num[run, metric, chosen].sum()) / den if den > 0 else None

    def in_both(self, candidate: int) -> BoolArray:
        """Samples that both the baseline and a candidate have. Shape (n,)."""
        both: BoolArray = (self.positions[0] >= 0) & (self.positions[candidate + 1] >= 0)
        return both


def pair_samples(logs: Sequence[TaskLog | None]) -> PairedSamples:
    """Pairs the logs of one task by sample id.

    Args:
        logs: Baseline first; at least one is not None.
    """
    known = [log for log in logs if log is not None]
    ids: dict[str, int] = {}
    for log in known:
        for sample_id in log.ids:
            ids.setdefault(sample_id, len(ids))
    positions = np.full((len(logs), len(ids)), -1, dtype=np.intp)
    for run, of_run in enumerate(logs):
        if of_run is not None:
            columns = np.fromiter((ids[sample_id] for sample_id in of_run.ids), np.intp, len(of_run))
            positions[run, columns] = np.arange(len(of_run))
    metrics = _metric_names(known)
    num, den = np.zeros((2, len(logs), len(metrics), len(ids)))
    for run, of_run in enumerate(logs):
        if of_run is None:
            continue
        present = positions[run] >= 0
        for index, name in enumerate(metrics):
            if name in of_run.metrics and (counts := _counts(of_run.metrics[name])) is not None:
                num[run, index, present] = counts[0][positions[run, present]]
                den[run, index, present] = counts[1][positions[run, present]]
    slices, members = _slices(logs, positions)
    return PairedSamples(
        logs=logs,
        ids=list(ids),
        positions=positions,
        metrics=metrics,
        higher_is_better=[_direction(known, name) for name in metrics],
        num=num,
        den=den,
        slices=slices,
        members=members,
    )


def _metric_names(logs: Sequence[TaskLog]) -> list[str]:
    names = {logs[0].headline: None}
    for log in logs:
        names |= dict.fromkeys(name for name, column in log.metrics.items() if _counts(column) is not None)
    return list(names)


def _counts(column: MetricColumn) -> tuple[FloatArray, FloatArray] | None:
    """Numerators and denominators by sample; None for AP, which has no value a sample."""
    if column.payloads is None:
        return column.num, column.den
    return group_counts(column.payloads) if is_group_metric(column.payloads) else None


def _direction(logs: Sequence[TaskLog], metric: str) -> bool:
    for log in logs:
        if metric in log.metrics and log.metrics[metric].higher_is_better is not None:
            return bool(log.metrics[metric].higher_is_better)
    return True


def _slices(logs: Sequence[TaskLog | None], positions: NDArray[np.intp]) -> tuple[list[SliceName], BoolArray]:
    values: dict[str, dict[str, BoolArray]] = {}
    for run, log in enumerate(logs):
        if log is None:
            continue
        here = positions[run] >= 0
        first_to_have = here & (positions[:run] < 0).all(axis=0)
        for attribute, categories in _ordered(log).items():
            codes = np.full(positions.shape[1], -1, dtype=np.int32)
            codes[first_to_have] = categories.codes[positions[run, first_to_have]]
            for code, value in enumerate(categories.values):
                column = values.setdefault(attribute, {}).setdefault(value, np.zeros(positions.shape[1], dtype=bool))
                column |= codes == code
    names: list[SliceName] = []
    columns: list[BoolArray] = []
    for attribute, members in values.items():
        for value in sorted(members, key=natural_key):
            names.append(SliceName(attribute=attribute, value=value))
            columns.append(members[value])
    return names, np.array(columns, dtype=bool).reshape(len(columns), positions.shape[1])


def _ordered(log: TaskLog) -> Mapping[str, Categories]:
    """Slice attributes in the order the task declares, the rest after them."""
    metadata = log.settings.get("metadata")
    declared = metadata.get("slices") if isinstance(metadata, Mapping) else None
    names = [name for name in declared if isinstance(name, str)] if isinstance(declared, list) else []
    return {name: log.slices[name] for name in dict.fromkeys([*names, *log.slices]) if name in log.slices}


def natural_key(value: str) -> tuple[int, float, str]:
    """Sorts `2-5` before `10-13`, and values without a number by name.

    >>> sorted(["10-13", "30+", "2-5", "zh", "en"], key=natural_key)
    ['2-5', '10-13', '30+', 'en', 'zh']
    """
    number = re.match(r"[<>≤≥]?\s*(\d+(?:\.\d+)?)", value)
    return (0, float(number[1]), value) if number else (1, 0.0, value)
