"""Two logs of one task, sample by sample in the same order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.gate.comparability import same_references_other_ids
from tliveomni_eval.evals.gate.verdict import Problem
from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.task_log import Categories, MetricColumn, TaskLog
from tliveomni_eval.evals.statistics.paired_slices import PairedSums, RatioStatistic, SetMetricPair

SumsOfSlices = Callable[[Mapping[str, NDArray[np.intp]]], PairedSums]
"""From slices (name to indices of paired samples) to the paired sums that the comparison takes."""

WHOLE_TASK = "all"
"""Name of the slice that holds every sample."""


@dataclass(frozen=True, eq=False, slots=True)
class PairedTask:
    """The samples that both runs have.

    Attributes:
        baseline: Log of the baseline.
        candidate: Log of the candidate.
        baseline_positions: Positions in the baseline log. Shape (n,).
        candidate_positions: Positions of the same samples in the candidate log. Shape (n,).
    """

    baseline: TaskLog
    candidate: TaskLog
    baseline_positions: NDArray[np.intp]
    candidate_positions: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.baseline_positions)

    def slices(self, attributes: list[str] | None = None) -> dict[str, NDArray[np.intp]]:
        """Slice name to indices 0..n−1 of its samples; the whole task first.

        Args:
            attributes: Slice attributes to use; all by default.
        """
        members: dict[str, NDArray[np.intp]] = {WHOLE_TASK: np.arange(len(self))}
        for attribute, values in self.baseline.slices.items():
            if attributes is None or attribute in attributes:
                codes = values.codes[self.baseline_positions]
                order = np.argsort(codes, kind="stable")
                bounds = np.searchsorted(codes[order], np.arange(len(values.values) + 1))
                for code, value in enumerate(values.values):
                    if bounds[code] < bounds[code + 1]:
                        members[f"{attribute}={value}"] = order[bounds[code] : bounds[code + 1]]
        return members


def pair_samples(baseline: TaskLog, candidate: TaskLog) -> tuple[PairedTask, list[Problem]]:
    """Pairs two logs by sample id and checks that both hold the same samples.

    Args:
        baseline: Log of the baseline.
        candidate: Log of the candidate.

    Returns:
        The samples that both have, and what is wrong: samples in one run only, other references, prompts or slices.
    """
    if baseline.ids == candidate.ids:
        everything = np.arange(len(baseline))
        pair = PairedTask(baseline, candidate, everything, everything)
        return pair, _content_problems(pair)
    index = {sample_id: position for position, sample_id in enumerate(candidate.ids)}
    common = [(position, index[sample_id]) for position, sample_id in enumerate(baseline.ids) if sample_id in index]
    positions = np.array(common, dtype=np.intp).reshape(-1, 2)
    pair = PairedTask(baseline, candidate, positions[:, 0], positions[:, 1])
    problems = []
    if not common:
        field = "prompts" if same_references_other_ids(baseline, candidate) else "data"
        message = (
            f"no sample in common: the runs were made with other {field} "
            f"({_place(baseline, 0)} and {_place(candidate, 0)} are the first of each)"
        )
        return pair, [Problem(task=baseline.name, field=field, message=message)]
    for log, other, in_both, owner in (
        (baseline, candidate, pair.baseline_positions, "baseline"),
        (candidate, baseline, pair.candidate_positions, "candidate"),
    ):
        alone = np.setdiff1d(np.arange(len(log)), in_both)
        if len(alone):
            first = int(alone[0])
            message = (
                f"{len(alone)} of {len(log)} samples are in the {owner} only, first {log.ids[first]!r} "
                f"({_place(log, first)}); {other.path} does not have it"
            )
            problems.append(Problem(task=log.name, field="samples", message=message))
    return pair, problems + _content_problems(pair)


def metric_pair(
    pair: PairedTask, metric: str, statistic: RatioStatistic, higher_is_better: bool | None
) -> tuple[SumsOfSlices, NDArray[np.bool_]]:
    """Counts of one metric, ready for the comparison of slices.

    Args:
        pair: The paired samples.
        metric: Metric name.
        statistic: How samples make a slice's number.
        higher_is_better: Direction for logs that do not say.

    Returns:
        A function from slices (indices of paired samples) to the paired sums, and which samples have the metric.

    Raises:
        LogError: If a log lacks the metric or its direction, or it scores other samples in the other run.
    """
    columns = [pair.baseline.metric(metric), pair.candidate.metric(metric)]
    positions = [pair.baseline_positions, pair.candidate_positions]
    direction = columns[0].higher_is_better if columns[0].higher_is_better is not None else higher_is_better
    if direction is None:
        raise LogError(
            f"the log does not say whether a higher {metric!r} is better: set `higher_is_better` for task "
            f"{pair.baseline.name!r} in the policy",
            pair.baseline.path,
        )
    present = [column.present[where] for column, where in zip(columns, positions, strict=True)]
    if not np.array_equal(present[0], present[1]):
        first = int(np.argmax(present[0] != present[1]))
        owner, lacks = (pair.baseline, pair.candidate) if present[0][first] else (pair.candidate, pair.baseline)
        where = (pair.candidate_positions if lacks is pair.candidate else pair.baseline_positions)[first]
        raise LogError(
            f"sample {lacks.ids[where]!r} has no {metric!r}, though it has one in {owner.path}",
            lacks.path,
            int(lacks.line_numbers[where]),
        )
    taken = [_at(column, where) for column, where in zip(columns, positions, strict=True)]
    set_metric = None
    if taken[0].payloads is not None or taken[1].payloads is not None:
        from tliveomni_eval.evals.gate.payload_metrics import group_counts, is_group_metric, set_metric_pair

        if is_group_metric(taken[0], pair.baseline):
            clusters = pair.baseline.clusters.codes[pair.baseline_positions]
            logs = zip(taken, positions, (pair.baseline, pair.candidate), strict=True)
            taken = [group_counts(column, where, clusters, log) for column, where, log in logs]
        else:
            set_metric = set_metric_pair(taken[0], taken[1], pair)

    def sums(slices: Mapping[str, NDArray[np.intp]]) -> PairedSums:
        chosen: RatioStatistic | SetMetricPair = statistic if set_metric is None else set_metric
        return PairedSums.of(
            taken[0].num,
            taken[0].den,
            taken[1].num,
            taken[1].den,
            cluster=pair.baseline.clusters.codes[pair.baseline_positions],
            slices=slices,
            kind="quality" if direction else "error",
            statistic=chosen,
        )

    return sums, present[0]


def status_pair(pair: PairedTask, status: str) -> PairedSums:
    """The share of samples whose output did not have a status, as a quality: 1 where all are free of it."""
    free = [
        (~_has_status(log.statuses, status)[where]).astype(float)
        for log, where in (
            (pair.baseline, pair.baseline_positions),
            (pair.candidate, pair.candidate_positions),
        )
    ]
    ones = np.ones(len(pair))
    return PairedSums.of(
        free[0], ones, free[1], ones, cluster=pair.baseline.clusters.codes[pair.baseline_positions], kind="quality"
    )


def samples_with_status(log: TaskLog, status: str) -> NDArray[np.intp]:
    """Positions of the samples with a status."""
    return np.flatnonzero(_has_status(log.statuses, status))


def _has_status(statuses: Categories, status: str) -> NDArray[np.bool_]:
    if status not in statuses.values:
        return np.zeros(len(statuses.codes), dtype=bool)
    return np.asarray(statuses.codes == statuses.values.index(status))


def _at(column: MetricColumn, positions: NDArray[np.intp]) -> MetricColumn:
    payloads = None if column.payloads is None else tuple(column.payloads[position] for position in positions)
    return replace(
        column,
        num=column.num[positions],
        den=column.den[positions],
        present=column.present[positions],
        payloads=payloads,
    )


def _content_problems(pair: PairedTask) -> list[Problem]:
    left, right = pair.baseline, pair.candidate
    problems = []
    for field, what, ours, theirs in (
        ("data", "reference", left.target_hashes, right.target_hashes),
        ("prompts", "prompt", left.prompt_hashes, right.prompt_hashes),
    ):
        differs = ours[pair.baseline_positions] != theirs[pair.candidate_positions]
        if differs.any():
            problems.append(_sample_problem(pair, field, f"another {what}", differs))
    for attribute in dict.fromkeys([*left.slices, *right.slices]):
        differs = _differing_strings(left.slices.get(attribute), right.slices.get(attribute), pair)
        if differs.any():
            problems.append(_sample_problem(pair, "data", f"another value of slice attribute {attribute!r}", differs))
    differs = _differing_strings(left.clusters, right.clusters, pair)
    if differs.any():
        problems.append(_sample_problem(pair, "data", "another cluster", differs))
    return problems


def _differing_strings(left: Categories | None, right: Categories | None, pair: PairedTask) -> NDArray[np.bool_]:
    if left is None or right is None:
        return np.ones(len(pair), dtype=bool)
    ours = left.codes[pair.baseline_positions]
    theirs = right.codes[pair.candidate_positions]
    if left.values == right.values:
        return np.asarray(ours != theirs)
    index = {value: code for code, value in enumerate(left.values)}
    translation = np.array([index.get(value, -2) for value in right.values] + [-1], dtype=np.int32)
    return np.asarray(ours != translation[theirs])


def _sample_problem(pair: PairedTask, field: str, what: str, differs: NDArray[np.bool_]) -> Problem:
    first = int(np.argmax(differs))
    ours, theirs = int(pair.baseline_positions[first]), int(pair.candidate_positions[first])
    return Problem(
        task=pair.baseline.name,
        field=field,
        message=(
            f"{int(differs.sum())} of {len(pair)} samples have {what} in the candidate, "
            f"first {pair.baseline.ids[ours]!r} "
            f"({_place(pair.baseline, ours)} against {_place(pair.candidate, theirs)})"
        ),
    )


def _place(log: TaskLog, position: int) -> str:
    return f"{log.path}:{log.line_numbers[position]}"
