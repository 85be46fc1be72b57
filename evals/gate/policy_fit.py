"""Whether a policy holds today and for these runs: a rule that matches nothing protects nothing."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from tliveomni_eval.evals.errors import unknown_name_message
from tliveomni_eval.evals.gate.policy import Policy
from tliveomni_eval.evals.gate.policy_error import PolicyError
from tliveomni_eval.evals.logs.task_log import TaskLog


def check_waivers(policy: Policy, today: datetime.date) -> None:
    """Refuses a policy with an expired waiver.

    Args:
        policy: The policy.
        today: The day to judge by; a waiver holds on its last day.

    Raises:
        PolicyError: If a waiver has expired; the message says whose it was.
    """
    for waiver in policy.waivers:
        if waiver.until < today:
            raise PolicyError(
                f"waiver for slice {waiver.slice!r} of task {waiver.task!r} expired on {waiver.until} "
                f"(approved by {waiver.approved_by}): mend the slice, or renew or remove the waiver"
            )


def check_policy_fits(policy: Policy, slices: Mapping[str, Collection[str]], logs: Mapping[str, TaskLog]) -> None:
    """Refuses a policy whose entries match nothing.

    Args:
        policy: The policy.
        slices: Task name to the slices that the runs have.
        logs: Task name to the log of the baseline.

    Raises:
        PolicyError: If a slice entry, an attribute, a metric or a waiver matches nothing in a task that was evaluated,
            or a waiver names a task or a metric that was not gated.
    """
    for task, task_policy in policy.tasks.items():
        if task not in slices:
            continue
        for pattern in task_policy.slices:
            if not any(fnmatchcase(name, pattern) or name == pattern for name in slices[task]):
                raise PolicyError(_unmatched(f"tasks.{task}.slices", "slice", pattern, slices[task]))
        for attribute in task_policy.attributes or ():
            if attribute not in logs[task].slices:
                raise PolicyError(
                    _unmatched(f"tasks.{task}.attributes", "slice attribute", attribute, logs[task].slices)
                )
        for metric in task_policy.metrics or ():
            known = [*logs[task].metrics, *logs[task].refused_metrics]
            if metric not in known:
                raise PolicyError(_unmatched(f"tasks.{task}.metrics", "metric", metric, known))
    for waiver in policy.waivers:
        if waiver.task not in slices:
            raise PolicyError(_unmatched("waivers", "task", waiver.task, slices))
        if waiver.slice not in slices[waiver.task]:
            raise PolicyError(_unmatched("waivers", "slice", waiver.slice, slices[waiver.task]))
        gated = policy.task(waiver.task).metrics or [logs[waiver.task].headline]
        if waiver.metric is not None and waiver.metric not in gated:
            raise PolicyError(_unmatched("waivers", "gated metric", waiver.metric, gated))


def _unmatched(where: str, kind: str, name: str, known: Collection[str]) -> str:
    return f"policy {where} matches nothing in the runs: {unknown_name_message(kind, name, list(known))}"
