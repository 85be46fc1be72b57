"""Evaluations that run now: what their folders say while they are written."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.run_info import RUN_INFO_NAME, read_run_info

_JOURNAL_NAME = "journal.sqlite"
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class RunningEvaluation:
    """One run that has begun and not ended (it may also have been killed).

    Attributes:
        name: Its name.
        tasks: Its tasks.
        started: ISO 8601 time.
        answered: Answers in its journal; None where it keeps none.
        total: Answers it will have; None where no earlier run of its tasks says how many.
        idle_s: Seconds since the last answer; None without one.
    """

    name: str
    tasks: list[str]
    started: str
    answered: int | None
    total: int | None = None
    idle_s: float | None = None

    def as_json(self) -> dict[str, object]:
        """The object that the server answers."""
        return asdict(self)


def running_evaluations(folder: Path, now: float, sizes: Mapping[str, int]) -> list[RunningEvaluation]:
    """Runs without an end among the folders in `folder` and the folders in those, newest first.

    Args:
        folder: A folder of runs.
        now: Seconds since 1970.
        sizes: Samples of the tasks that are known from earlier runs.
    """
    found = []
    for path in [*folder.glob(f"*/{RUN_INFO_NAME}"), *folder.glob(f"*/*/{RUN_INFO_NAME}")]:
        try:
            info = read_run_info(path)
        except LogError:
            continue  # Half a run folder is nothing to show yet.
        if info.exit_status is None:
            answered, last = _answered(path.with_name(_JOURNAL_NAME))
            total = _total(info.tasks, info.limit, sizes)
            if total is not None and answered is not None and answered > total:
                total = None  # The data grew since that run.
            idle = max(0.0, now - last) if last else None
            found.append(RunningEvaluation(info.name, info.tasks, info.start.isoformat(), answered, total, idle))
    return sorted(found, key=lambda run: run.started, reverse=True)[:_MOST_SHOWN]


def _total(tasks: Sequence[str], limit: float | None, sizes: Mapping[str, int]) -> int | None:
    """Answers of a run: as many as its tasks have samples, at most `limit` each; a limit below 1 is a share of them.

    A name that no earlier run had may be a group of any number of tasks.
    """
    known = [sizes[task] for task in tasks if task in sizes]
    if len(known) < len(tasks):
        return None
    if limit is None:
        return sum(known)
    return sum(min(int(limit), size) if limit >= 1 else math.ceil(limit * size) for size in known)


def _answered(journal: Path) -> tuple[int | None, float | None]:
    """Answers in a journal and when the last one was written, in seconds since 1970."""
    if not journal.is_file():
        return None, None
    try:
        connection = sqlite3.connect(f"file:{quote(str(journal.resolve()))}?mode=ro", uri=True, timeout=1)
    except sqlite3.Error:
        return None, None
    try:
        count, last = connection.execute("SELECT count(*), max(written_at) FROM responses").fetchone()
        return int(count), last
    except sqlite3.Error:
        return None, None
    finally:
        connection.close()
