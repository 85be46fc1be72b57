"""lmms-eval's logs into a run folder: whole, checked, and in one step.

lmms-eval reports a log it could not write (disk full) as a line of information and goes on, so what it wrote is
counted before it takes the place of an earlier run's logs.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.errors import UserError

LOG_FOLDER = "lmms_eval"
_INCOMING = ".incoming"


def write_logs(
    run_folder: Path, tracker: Any, results: dict[str, Any], samples: dict[str, list[dict[str, Any]]]
) -> Path:
    """Save results and samples below `RUN/lmms_eval`, replacing those of an earlier run.

    Args:
        run_folder: The run folder.
        tracker: lmms-eval's `EvaluationTracker` of the evaluation.
        results: What `simple_evaluate` returned, without samples.
        samples: Task to logged samples.

    Returns:
        The folder of the logs.

    Raises:
        UserError: A file is missing or short.
    """
    from lmms_eval.utils import get_datetime_str

    incoming, final = run_folder / _INCOMING, run_folder / LOG_FOLDER
    shutil.rmtree(incoming, ignore_errors=True)
    tracker.output_path = str(incoming)
    for rows in samples.values():
        _note_failed_requests(rows)
    expected = {task: len(rows) for task, rows in samples.items()}
    tracker.save_results_aggregated(results=results, samples=samples, datetime_str=get_datetime_str())
    for task, rows in samples.items():
        tracker.save_results_samples(task_name=task, samples=rows)
    _check_written(incoming, expected)
    shutil.rmtree(final, ignore_errors=True)
    incoming.rename(final)
    return final


def _note_failed_requests(rows: list[dict[str, Any]]) -> None:
    """A request that failed has no answer, which lmms-eval would log as the text `None`."""
    for row in rows:
        for field in ("resps", "filtered_resps"):
            if row.get(field) in ([None], [[None]]):
                row[field] = [""]


def _check_written(folder: Path, expected: dict[str, int]) -> None:
    if not list(folder.rglob("*_results.json")):
        raise UserError(f"lmms-eval could not write its results below {folder}; is the disk full?")
    for task, count in expected.items():
        files = list(folder.rglob(f"*_samples_{task}.jsonl"))
        lines = sum(1 for line in files[0].open("rb") if line.endswith(b"\n")) if len(files) == 1 else 0
        if lines != count:
            raise UserError(f"the log of {task} below {folder} has {lines} of {count} samples; is the disk full?")
