"""Which files of a folder are the logs of one run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tliveomni_eval.evals.logs.log_error import LogError

_DEEPEST = 4
_MOST_ENTRIES = 50_000

_LMMS_EVAL_SAMPLES = re.compile(r"(?P<date>\d[\dT_.-]*)_samples_(?P<task>.+)\.jsonl")
_LMMS_EVAL_RESULTS = re.compile(r"(?P<date>\d[\dT_.-]*)_results\.json")
_LM_EVAL_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl")
_LM_EVAL_RESULTS = re.compile(r"results_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.json")

Writer = Literal["lmms-eval", "lm-eval"]


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log, known by its name alone.

    Attributes:
        path: The file; inside the run folder, links resolved.
        writer: Which harness names files so.
        date: The date in the name; sorts in order of time within one harness.
        task: Task name; None for a results file.
    """

    path: Path
    writer: Writer
    date: str
    task: str | None


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The logs found in a folder.

    Attributes:
        results: Results files, oldest first.
        samples: Sample logs, oldest first.
        not_followed: Symbolic links to folders, which are never entered.
    """

    results: tuple[LogFile, ...]
    samples: tuple[LogFile, ...]
    not_followed: tuple[Path, ...]


def find_log_files(folder: Path) -> LogFiles:
    """Finds the logs of lmms-eval and lm-evaluation-harness in a folder and up to four levels below it.

    Args:
        folder: A run folder, or an output folder of a harness.

    Raises:
        LogError: If the folder does not exist, is too large to be one run's, or holds a log that is a link out of the
            folder or not a regular file.
    """
    if not folder.exists():
        raise LogError("does not exist", folder)
    if not folder.is_dir():
        raise LogError("is not a folder", folder)
    root = folder.resolve()
    found: list[LogFile] = []
    links: list[Path] = []
    entries = 0
    try:
        for path, is_linked_folder in _walk(folder, _DEEPEST):
            entries += 1
            if entries > _MOST_ENTRIES:
                raise LogError(f"holds more than {_MOST_ENTRIES} files: not the folder of one run", folder)
            if is_linked_folder:
                links.append(path)
            elif (log := _log_file(path)) is not None:
                _check_inside(path, root)
                found.append(log)
    except OSError as error:
        raise LogError(f"cannot be listed: {error.strerror}", Path(error.filename or folder)) from error
    found.sort(key=lambda log: (log.date, log.path))
    return LogFiles(
        results=tuple(log for log in found if log.task is None),
        samples=tuple(log for log in found if log.task is not None),
        not_followed=tuple(links),
    )


def _walk(folder: Path, depth: int) -> Iterator[tuple[Path, bool]]:
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            if depth > 1:
                yield from _walk(path, depth - 1)
            if _log_file(path) is not None:
                yield path, False
        else:
            yield path, entry.is_dir()


def _log_file(path: Path) -> LogFile | None:
    if match := _LMMS_EVAL_SAMPLES.fullmatch(path.name):
        return LogFile(path, "lmms-eval", match["date"], match["task"])
    if match := _LMMS_EVAL_RESULTS.fullmatch(path.name):
        return LogFile(path, "lmms-eval", match["date"], None)
    if match := _LM_EVAL_SAMPLES.fullmatch(path.name):
        return LogFile(path, "lm-eval", match["date"], match["task"])
    if match := _LM_EVAL_RESULTS.fullmatch(path.name):
        return LogFile(path, "lm-eval", match["date"], None)
    return None


def _check_inside(path: Path, root: Path) -> None:
    try:
        target = path.resolve(strict=True)
    except OSError as error:
        raise LogError(f"is a link that leads nowhere: {os.readlink(path)!r}", path) from error
    if not target.is_relative_to(root):
        raise LogError(f"is a link out of the run folder, to {str(target)!r}; copy the file instead", path)
    if not target.is_file():
        raise LogError("is not a regular file", path)
