"""The release gate: a baseline run, a candidate run and a policy in, one verdict out."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tliveomni_eval.evals.gate.comparability import run_differences, task_differences
from tliveomni_eval.evals.gate.pairing import PairedTask, pair_samples, samples_with_status
from tliveomni_eval.evals.gate.policy import Policy
from tliveomni_eval.evals.gate.policy_fit import check_policy_fits, check_waivers
from tliveomni_eval.evals.gate.run_trust import input_differences, trust_problems
from tliveomni_eval.evals.gate.slice_judgement import JudgedSlice, judge_task
from tliveomni_eval.evals.gate.slice_verdicts import (
    absent_required_slices,
    release_outcome,
    slice_verdicts,
    slices_of_a_sample,
    worst_first,
)
from tliveomni_eval.evals.gate.summary import summarise
from tliveomni_eval.evals.gate.verdict import EXIT_STATUS, GateReport, Problem, RunSummary, Verdict
from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.run_folder import Run, read_run

RunOrPath = Run | Path | str


def gate(
    baseline: RunOrPath,
    candidate: RunOrPath,
    policy: Policy | Path | str | None = None,
    *,
    noise: RunOrPath | None = None,
    allow: Collection[str] = (),
    tasks: Collection[str] | None = None,
    today: datetime.date | None = None,
) -> Verdict:
    """Decides whether a candidate lost more than the budget on any slice.

    Without a policy every slice of every task's headline metric, and the whole task as slice `all`, may lose 1.5 % of
    the baseline's quality. The release is PASS only where every slice is (an intersection–union test, which needs no
    correction); BREACH claims are corrected by Holm's method over the gated slices of all tasks.

    Args:
        baseline: The 16-bit run: a run folder, or a run that was read.
        candidate: The run to judge.
        policy: A policy or its file.
        noise: A second run of the baseline, to tell loss from noise.
        allow: Fields whose difference does not forbid the comparison (see `comparability.ALLOWABLE_FIELDS`); recorded.
        tasks: Names of the tasks to gate; all by default.
        today: The day by which waivers expire; the current one by default.

    Returns:
        The verdict. A log that is absent, unreadable or not comparable makes it MISSING and is named in `problems`.

    Raises:
        PolicyError: If the policy is wrong, has an expired waiver, or speaks of what the runs do not have.
    """
    return gate_candidates(baseline, [candidate], policy, noise=noise, allow=allow, tasks=tasks, today=today).verdicts[
        0
    ]


def gate_candidates(
    baseline: RunOrPath,
    candidates: Sequence[RunOrPath],
    policy: Policy | Path | str | None = None,
    *,
    noise: RunOrPath | None = None,
    allow: Collection[str] = (),
    tasks: Collection[str] | None = None,
    today: datetime.date | None = None,
) -> GateReport:
    """Judges several candidates against one baseline; the arguments are those of `gate`."""
    if policy is None:
        policy = Policy()
    elif not isinstance(policy, Policy):
        from tliveomni_eval.evals.gate.policy_file import read_policy

        policy = read_policy(Path(policy))
    check_waivers(policy, today or datetime.date.today())
    baseline_run = _read(baseline, tasks)
    noise_run = None if noise is None else _read(noise, tasks)
    verdicts = [
        _judge(baseline_run, _read(candidate, tasks), policy, noise_run, allow, tasks) for candidate in candidates
    ]
    return GateReport.of(verdicts)


def _read(run: RunOrPath, tasks: Collection[str] | None) -> Run | _UnreadableRun:
    if isinstance(run, Run):
        return run
    try:
        return read_run(run, tasks)
    except LogError as error:
        return _UnreadableRun(Path(run), error)


class _UnreadableRun:
    def __init__(self, path: Path, error: LogError) -> None:
        self.path = path
        self.name = path.name or str(path)
        self.error = error


@dataclass(slots=True)
class _Evidence:
    """What the comparison of two runs brought to light."""

    problems: list[Problem] = field(default_factory=list)
    pairs: dict[str, PairedTask] = field(default_factory=dict)
    judged: list[JudgedSlice] = field(default_factory=list)


def _judge(
    baseline: Run | _UnreadableRun,
    candidate: Run | _UnreadableRun,
    policy: Policy,
    noise: Run | _UnreadableRun | None,
    allow: Collection[str],
    tasks: Collection[str] | None,
) -> Verdict:
    if isinstance(baseline, Run) and isinstance(candidate, Run) and not isinstance(noise, _UnreadableRun):
        evidence = _compare_runs(baseline, candidate, policy, noise, allow, tasks)
    else:
        roles = {"baseline": baseline, "candidate": candidate, "noise run": noise}
        evidence = _Evidence(
            [
                Problem(task=None, field="log", message=f"{role}: {run.error}")
                for role, run in roles.items()
                if isinstance(run, _UnreadableRun)
            ]
        )
    slices = slice_verdicts(evidence.judged, policy) + absent_required_slices(evidence.pairs, policy)
    slices.sort(key=worst_first)
    outcome = release_outcome(slices, evidence.problems)
    return Verdict(
        outcome=outcome,
        exit_status=EXIT_STATUS[outcome],
        summary=summarise(outcome, candidate.name, slices, evidence.problems),
        baseline=_run_summary(baseline),
        candidate=_run_summary(candidate),
        noise_run=None if noise is None else _run_summary(noise),
        slices=slices,
        problems=evidence.problems,
        memberships=slices_of_a_sample(slices, evidence.pairs),
        policy=policy,
    )


def _compare_runs(
    baseline: Run,
    candidate: Run,
    policy: Policy,
    noise: Run | None,
    allow: Collection[str],
    tasks: Collection[str] | None,
) -> _Evidence:
    found = [*run_differences(baseline, candidate), *input_differences(baseline, candidate)]
    found += trust_problems("baseline", baseline) + trust_problems("candidate", candidate)
    evidence = _Evidence(_allowed(found, allow))
    if noise is not None:
        again = [*run_differences(baseline, noise), *input_differences(baseline, noise), *trust_problems("run", noise)]
        evidence.problems += _of_noise(again, allow)
    comparable = all(problem.allowed for problem in evidence.problems)
    evidence.problems += _absent_tasks(baseline, candidate, policy, tasks)
    for task in baseline.tasks:
        if comparable and task in candidate.tasks:
            pair, found = _pair(task, baseline, candidate, policy, noise, allow)
            evidence.problems += found
            if all(problem.allowed for problem in found):
                evidence.pairs[task] = pair
    if all(problem.allowed for problem in evidence.problems):
        slices = {task: list(pair.slices()) for task, pair in evidence.pairs.items()}
        check_policy_fits(policy, slices, baseline.tasks)
    for task, pair in evidence.pairs.items():
        try:
            evidence.judged += judge_task(pair, policy, noise.tasks.get(task) if noise is not None else None)
        except LogError as error:
            evidence.problems.append(Problem(task=task, field="log", message=str(error)))
    return evidence


def _allowed(problems: list[Problem], allow: Collection[str]) -> list[Problem]:
    return [problem.model_copy(update={"allowed": problem.field in allow}) for problem in problems]


def _of_noise(problems: list[Problem], allow: Collection[str]) -> list[Problem]:
    named = [problem.model_copy(update={"message": f"noise run: {problem.message}"}) for problem in problems]
    return _allowed(named, allow)


def _absent_tasks(baseline: Run, candidate: Run, policy: Policy, tasks: Collection[str] | None) -> list[Problem]:
    problems = []
    wanted = dict.fromkeys(
        [
            *baseline.tasks,
            *baseline.missing,
            *candidate.tasks,
            *candidate.missing,
            *(tasks or policy.tasks),
            *policy.tasks,
        ]
    )
    for task in wanted:
        if tasks is not None and task not in tasks:
            continue
        for role, run in (("baseline", baseline), ("candidate", candidate)):
            if task not in run.tasks:
                why = run.missing.get(task, "it was not evaluated")
                problems.append(
                    Problem(task=task, field="task", message=f"{run.path}: {role} has no log of this task: {why}")
                )
    return problems


def _pair(
    task: str,
    baseline: Run,
    candidate: Run,
    policy: Policy,
    noise: Run | None,
    allow: Collection[str],
) -> tuple[PairedTask, list[Problem]]:
    found = task_differences(task, baseline, candidate)
    pair, in_samples = pair_samples(baseline.tasks[task], candidate.tasks[task])
    problems = _allowed(found + in_samples, allow if len(pair) else ())
    for role, log in (("baseline", pair.baseline), ("candidate", pair.candidate)):
        failed = samples_with_status(log, "error")
        if len(failed) > policy.task(task).max_errors:
            message = (
                f"{log.path}:{log.line_numbers[failed[0]]}: {len(failed)} samples of the {role} have no output because "
                f"the request failed, first {log.ids[failed[0]]!r} (policy allows {policy.task(task).max_errors}): "
                "run them again"
            )
            problems.append(Problem(task=task, field="errors", message=message))
    if noise is not None:
        if task not in noise.tasks:
            problems.append(
                Problem(task=task, field="task", message=f"{noise.path}: noise run has no log of this task")
            )
        else:
            again = task_differences(task, baseline, noise)
            again += pair_samples(baseline.tasks[task], noise.tasks[task])[1]
            problems += _of_noise(again, allow)
    return pair, problems


def _run_summary(run: Run | _UnreadableRun) -> RunSummary:
    info = run.run_info if isinstance(run, Run) else None
    return RunSummary(
        path=str(run.path),
        name=run.name,
        variant=info.variant if info else None,
        checkpoint=info.checkpoint.fingerprint if info else None,
        run_info=info,
    )
