"""Whether two runs measured the same thing: every difference that would make a loss meaningless, named by its field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tliveomni_eval.evals.gate.verdict import Problem
from tliveomni_eval.evals.logs.run_folder import Run
from tliveomni_eval.evals.logs.task_log import TaskLog

RUN_FIELDS = ("decoding", "parsers", "normalisers", "judge")
TASK_FIELDS = ("data", "prompts")
SETTING_FIELDS = {
    "version": "version",
    "num_fewshot": "num_fewshot",
    "generation_kwargs": "decoding",
    "system_instruction": "prompts",
    "harness_version": "harness",
}
"""Setting of a task log to the field that `--allow` names."""

MEDIA_FIELD = "media"
ALLOWABLE_FIELDS = tuple(dict.fromkeys([*RUN_FIELDS, MEDIA_FIELD, *TASK_FIELDS, *SETTING_FIELDS.values(), "samples"]))


def run_differences(baseline: Run, candidate: Run) -> list[Problem]:
    """Differences in what holds for a whole run, as far as both runs have a `run.json`.

    Args:
        baseline: The run that is the measure.
        candidate: The run that is judged.
    """
    if baseline.run_info is None or candidate.run_info is None:
        return []
    ours, theirs = baseline.run_info, candidate.run_info
    of_one_task = {*baseline.tasks, *candidate.tasks, *ours.tasks, *theirs.tasks}
    problems = [
        _difference(None, field, f"{field}.{key}", left, right)
        for field in RUN_FIELDS
        for key, left, right in _differing(getattr(ours, field), getattr(theirs, field))
        if key not in of_one_task
    ]
    if ours.media and theirs.media:
        # A run older than the field says nothing of its media; its prompts and data are compared all the same.
        problems += [
            _difference(None, MEDIA_FIELD, f"{MEDIA_FIELD}.{key}", left, right)
            for key, left, right in _differing(ours.media, theirs.media)
        ]
    left, right = (info.versions.get("lmms-eval") for info in (ours, theirs))
    if None not in (left, right) and left != right:
        problems.append(_difference(None, "harness", "versions.lmms-eval", left, right))
    return problems


def task_differences(task: str, baseline: Run, candidate: Run) -> list[Problem]:
    """Differences in what one task was run on and how.

    Args:
        task: A task that both runs have.
        baseline: The run that is the measure.
        candidate: The run that is judged.
    """
    problems = []
    if baseline.run_info is not None and candidate.run_info is not None:
        for field in (*TASK_FIELDS, *RUN_FIELDS):
            ours = getattr(baseline.run_info, field).get(task)
            theirs = getattr(candidate.run_info, field).get(task)
            if ours != theirs:
                problems.append(_difference(task, field, f"{field}.{task}", ours, theirs))
    left, right = baseline.tasks[task], candidate.tasks[task]
    if left.log_format != right.log_format:
        problems.append(_difference(task, "harness", "format", left.log_format, right.log_format))
    for setting, field in SETTING_FIELDS.items():
        ours, theirs = left.settings.get(setting), right.settings.get(setting)
        if ours != theirs:
            problems.append(_difference(task, field, setting, ours, theirs))
    return problems


def same_references_other_ids(baseline: TaskLog, candidate: TaskLog) -> bool:
    """Whether two logs without a common sample have the same references: then the prompts differ, not the data."""
    return sorted(baseline.target_hashes.tolist()) == sorted(candidate.target_hashes.tolist())


def _differing(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for key in sorted({*ours, *theirs}):
        if ours.get(key) != theirs.get(key):
            yield key, ours.get(key), theirs.get(key)


def _difference(task: str | None, field: str, name: str, ours: Any, theirs: Any) -> Problem:
    return Problem(
        task=task,
        field=field,
        message=f"{name} differs: baseline {_shown(ours)}, candidate {_shown(theirs)}",
    )


def _shown(value: Any) -> str:
    return "has none" if value is None else f"{str(value)[:80]!r}" if isinstance(value, str) else str(value)[:80]
