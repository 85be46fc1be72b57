"""Remarks on a comparison that no score shows: what the outputs of two runs look like, read from their logs again."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.run_folder import read_run
from tliveomni_eval.evals.logs.task_log import TaskLog
from tliveomni_eval.evals.output_pathology import LoggedOutput, compare_outputs, more_often


def output_notes(baseline: Path, candidate: Path, tasks: Collection[str] | None = None) -> list[str]:
    """One line for each slice on which the candidate's outputs go wrong more often than chance explains.

    Args:
        baseline: Run folder of the 16-bit backend.
        candidate: Run folder of the candidate.
        tasks: Names of the tasks to look at; all that both runs have by default.

    Returns:
        Notes, task by task. A folder that cannot be read gives none: the verdict names it.
    """
    try:
        first, second = read_run(baseline, tasks), read_run(candidate, tasks)
        return [
            f"{task}: {change.note()}"
            for task in first.tasks
            if task in second.tasks
            for change in more_often(compare_outputs(_pairs(first.tasks[task], second.tasks[task])))
        ]
    except LogError:
        return []


def _pairs(baseline: TaskLog, candidate: TaskLog) -> Iterator[tuple[LoggedOutput, LoggedOutput]]:
    places = {sample_id: place for place, sample_id in enumerate(candidate.ids)}
    for place, sample_id in enumerate(baseline.ids):
        if sample_id in places:
            slices = {
                attribute: column.values[column.codes[place]]
                for attribute, column in baseline.slices.items()
                if column.codes[place] >= 0
            }
            yield _logged(baseline.sample(place), slices), _logged(candidate.sample(places[sample_id]), slices)


def _logged(row: dict[str, Any], slices: dict[str, str]) -> LoggedOutput:
    answer = row.get("filtered_resps", row.get("resps", ""))
    while isinstance(answer, list) and answer:
        answer = answer[0]
    return LoggedOutput(_text(row.get("input", "")), _text(row.get("target", "")), _text(answer or ""), slices)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
