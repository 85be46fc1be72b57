"""Every slice of one task compared and set against its rule; the family of BREACH claims comes later."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.gate.pairing import (
    WHOLE_TASK,
    PairedTask,
    SumsOfSlices,
    metric_pair,
    pair_samples,
    status_pair,
)
from tliveomni_eval.evals.gate.policy import Policy, Rule
from tliveomni_eval.evals.gate.verdict import Noise
from tliveomni_eval.evals.logs.task_log import TaskLog
from tliveomni_eval.evals.statistics.comparison import SliceComparison
from tliveomni_eval.evals.statistics.inference import compare_slices
from tliveomni_eval.evals.statistics.paired_slices import RatioStatistic

UNPARSED = "unparsed"
"""Name under which the increase of outputs without the declared format is reported, as if it were a metric."""


_REPLICATES = 2_000
"""Of the bootstrap that cross-checks an interval; no verdict rests on it."""


@dataclass(frozen=True, slots=True)
class JudgedSlice:
    """One slice with its rule, before the family of claims is looked at.

    Attributes:
        task: Task name.
        metric: Metric name, or `unparsed`.
        higher_is_better: Direction of the metric.
        rule: The rule of the slice.
        comparison: What the statistics found.
        noise: The A/A comparison; None without a second baseline run.
    """

    task: str
    metric: str
    higher_is_better: bool
    rule: Rule
    comparison: SliceComparison
    noise: Noise | None = None

    @property
    def gated(self) -> bool:
        """Whether the slice is large enough, or must be gated whatever its size."""
        whole = self.comparison.slice == WHOLE_TASK
        return whole or self.rule.required or self.comparison.n_clusters >= self.rule.min_clusters


def judge_task(pair: PairedTask, policy: Policy, noise_log: TaskLog | None = None) -> list[JudgedSlice]:
    """Compares every slice of a task under every gated metric.

    Args:
        pair: The samples that both runs have; at least one.
        policy: The policy.
        noise_log: The same task in a second baseline run.

    Raises:
        LogError: If a metric of the policy is not in the logs or cannot be used.
    """
    task = pair.baseline.name
    task_policy = policy.task(task)
    slices = pair.slices(task_policy.attributes)
    rules = {name: policy.rule(task, name) for name in slices}
    noise_pair = pair_samples(pair.baseline, noise_log)[0] if noise_log is not None else None
    judged: list[JudgedSlice] = []
    for metric in task_policy.metrics or [pair.baseline.headline]:
        statistic = slice_statistic(pair.baseline, task_policy.statistic)
        sums, present = metric_pair(pair, metric, statistic, task_policy.higher_is_better)
        members = {name: indices[present[indices]] for name, indices in slices.items()}
        members = {name: indices for name, indices in members.items() if len(indices)}
        compared = _compare(sums, members, rules, _REPLICATES)
        noise = _noise(noise_pair, metric, statistic, task_policy.higher_is_better, compared, rules)
        column = pair.baseline.metrics[metric].higher_is_better
        judged += [
            JudgedSlice(
                task=task,
                metric=metric,
                higher_is_better=bool(column if column is not None else task_policy.higher_is_better),
                rule=rules[name],
                comparison=comparison,
                noise=noise.get(name),
            )
            for name, comparison in compared.items()
        ]
    if pair.baseline.log_format == "tlive":
        judged.append(_judge_unparsed(pair, policy))
    return judged


def slice_statistic(log: TaskLog, of_policy: RatioStatistic | None) -> RatioStatistic:
    """How samples make a slice's number: what the policy says, else what the task's metadata declares."""
    declared = of_policy or log.settings.get("metadata", {}).get("statistic")
    return "all_correct" if declared == "all_correct" else "ratio"


def slices_by_rule(
    members: Mapping[str, NDArray[np.intp]], rules: Mapping[str, Rule]
) -> list[tuple[Rule, dict[str, NDArray[np.intp]]]]:
    """Slices whose budget, scale and confidence are the same, so that one call compares them all.

    Args:
        members: Slice name to indices of its samples.
        rules: Slice name to its rule.
    """
    alike: dict[tuple[float, str, float], dict[str, NDArray[np.intp]]] = defaultdict(dict)
    for name, indices in members.items():
        rule = rules[name]
        alike[rule.budget, rule.loss, rule.confidence][name] = indices
    return [(rules[next(iter(same_rule))], same_rule) for same_rule in alike.values()]


def _compare(
    sums: SumsOfSlices, members: Mapping[str, NDArray[np.intp]], rules: Mapping[str, Rule], replicates: int = 0
) -> dict[str, SliceComparison]:
    found = {
        comparison.slice: comparison
        for rule, same_rule in slices_by_rule(members, rules)
        for comparison in compare_slices(
            sums(same_rule),
            budget=rule.budget,
            loss_kind=rule.loss,
            confidence=rule.confidence,
            replicates=replicates,
        )
    }
    return {name: found[name] for name in members}


def _noise(
    pair: PairedTask | None,
    metric: str,
    statistic: RatioStatistic,
    higher_is_better: bool | None,
    compared: Mapping[str, SliceComparison],
    rules: Mapping[str, Rule],
) -> dict[str, Noise]:
    if pair is None or not len(pair):
        return {}
    sums, present = metric_pair(pair, metric, statistic, higher_is_better)
    members = {name: indices[present[indices]] for name, indices in pair.slices().items() if name in compared}
    found = _compare(sums, {name: indices for name, indices in members.items() if len(indices)}, rules)
    return {
        name: Noise(
            loss=again.loss,
            low=again.low,
            high=again.high,
            flip_rate=again.flip_rate,
            inside=bool(compared[name].loss <= again.high),
        )
        for name, again in found.items()
        if not math.isnan(again.loss)
    }


def _judge_unparsed(pair: PairedTask, policy: Policy) -> JudgedSlice:
    tolerated = policy.task(pair.baseline.name).max_unparsed_increase
    rule = policy.rule(pair.baseline.name, WHOLE_TASK).model_copy(update={"budget": tolerated, "loss": "absolute"})
    (comparison,) = compare_slices(
        status_pair(pair, UNPARSED), budget=tolerated, loss_kind="absolute", confidence=rule.confidence, replicates=0
    )
    return JudgedSlice(pair.baseline.name, UNPARSED, False, rule, comparison)
