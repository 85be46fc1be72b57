"""How many clusters every slice of a run needs for a verdict, before a candidate is evaluated."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tliveomni_eval.evals.gate.pairing import metric_pair, pair_samples
from tliveomni_eval.evals.gate.policy import Policy, Rule
from tliveomni_eval.evals.gate.slice_judgement import slice_statistic, slices_by_rule
from tliveomni_eval.evals.logs.run_folder import Run
from tliveomni_eval.evals.logs.task_log import TaskLog
from tliveomni_eval.evals.statistics.plan import SlicePlan, plan_rates, plan_run


@dataclass(frozen=True, slots=True)
class Supposition:
    """What is supposed about a candidate that has not been run.

    Attributes:
        flip_rate: Share of clusters that change, either way, 0..1.
        loss: True relative loss, 0..1.
        change: Share of its quality that a changed cluster of a ratio metric loses or gains, 0..1.
        power: Probability of a verdict, above 0.5 and below 1.
    """

    flip_rate: float = 0.02
    loss: float = 0.0
    change: float = 1.0
    power: float = 0.8


@dataclass(frozen=True, slots=True)
class PlannedSlice:
    """One slice of one task under one metric.

    Attributes:
        task: Task name; empty for given rates.
        metric: Metric name; empty for given rates.
        rule: The rule it would be judged by.
        plan: The clusters it needs.
    """

    task: str
    metric: str
    rule: Rule
    plan: SlicePlan

    def as_json(self) -> dict[str, Any]:
        """A JSON object with every field."""
        return {
            "task": self.task,
            "metric": self.metric,
            "rule": self.rule.model_dump(mode="json"),
            **asdict(self.plan),
            "missing_clusters": self.plan.missing_clusters,
        }


def plan_slices(run: Run, policy: Policy, supposed: Supposition) -> list[PlannedSlice]:
    """Plans every slice of a run, the one that lacks most first.

    Args:
        run: A run of the baseline.
        policy: The policy the candidate will be judged by.
        supposed: What is supposed about the candidate.

    Raises:
        LogError: If a metric of the policy is not in the log or cannot be used.
        ValueError: If the suppositions contradict each other.
    """
    planned = [item for log in run.tasks.values() for item in _plan_task(log, policy, supposed)]
    return sorted(planned, key=lambda item: -_lacking(item.plan))


def plan_quality(quality: float, rule: Rule, supposed: Supposition) -> PlannedSlice:
    """Plans right-or-wrong samples of a given quality.

    Args:
        quality: Share that the baseline gets right, above 0 and at most 1.
        rule: The rule the candidate will be judged by.
        supposed: What is supposed about the candidate.

    Raises:
        ValueError: If a rate is out of range, or the flips cannot produce the loss.
    """
    plan = plan_rates(
        quality,
        flip_rate=supposed.flip_rate,
        loss=supposed.loss,
        budget=rule.budget,
        loss_kind=rule.loss,
        confidence=rule.confidence,
        power=supposed.power,
    )
    return PlannedSlice("", "", rule, plan)


def _plan_task(log: TaskLog, policy: Policy, supposed: Supposition) -> list[PlannedSlice]:
    itself, _ = pair_samples(log, log)
    task_policy = policy.task(log.name)
    planned = []
    for metric in task_policy.metrics or [log.headline]:
        statistic = slice_statistic(log, task_policy.statistic)
        sums, present = metric_pair(itself, metric, statistic, task_policy.higher_is_better)
        members = {name: indices[present[indices]] for name, indices in itself.slices(task_policy.attributes).items()}
        members = {name: indices for name, indices in members.items() if len(indices)}
        rules = {name: policy.rule(log.name, name) for name in members}
        for rule, same_rule in slices_by_rule(members, rules):
            plans = plan_run(
                sums(same_rule),
                flip_rate=supposed.flip_rate,
                loss=supposed.loss,
                change=supposed.change,
                budget=rule.budget,
                loss_kind=rule.loss,
                confidence=rule.confidence,
                power=supposed.power,
            )
            planned += [PlannedSlice(log.name, metric, rules[plan.slice], plan) for plan in plans]
    return planned


def _lacking(plan: SlicePlan) -> float:
    return float("inf") if plan.missing_clusters is None else plan.missing_clusters
