"""What a journal holds, whether it is whole and says what the logs say, and taking out what is no longer needed."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from filelock import FileLock, Timeout
from tliveomni_eval.evals.errors import UserError, unknown_name_message
from tliveomni_eval.evals.logs.json_lines import read_json_lines
from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.log_files import find_log_files
from tliveomni_eval.model_adapters.vllm_backend.response_journal import JOURNAL_NAME, add_missing_column

_KEY = re.compile(r"[0-9a-f]{64}")
_MOST_FAULTS = 100


@dataclass(frozen=True, slots=True)
class TaskResponses:
    """Responses of one task.

    Attributes:
        task: Its name.
        responses: How many.
        documents: How many documents they answer; fewer than responses where weights, prompt, engine or decoding
            changed between runs.
        output_tokens: Generated tokens in all.
        cut: Responses that ended at the limit of tokens.
        empty: Responses without any text but blanks.
    """

    task: str
    responses: int
    documents: int
    output_tokens: int
    cut: int
    empty: int


def journal_path(run: Path) -> Path:
    """The journal of a run folder, or the file itself where it is named.

    Raises:
        UserError: There is none.
    """
    path = run / JOURNAL_NAME if run.is_dir() else run
    if not path.is_file():
        raise UserError(f"{path}: there is no journal; `tlive run` keeps one in each run folder, lmms-eval keeps none")
    return path


def responses_by_task(path: Path) -> list[TaskResponses]:
    """Count what a journal holds, without changing it; a run may be writing it meanwhile.

    Args:
        path: The journal.

    Raises:
        UserError: It is damaged or no journal.
    """
    query = """
        SELECT task, count(*), count(DISTINCT document), sum(output_tokens),
               sum(finish_reason = 'length'), sum(trim(text, char(9, 10, 13, 32)) = '')
        FROM responses GROUP BY task ORDER BY task
    """
    with _readable(path) as database:
        return [TaskResponses(*row) for row in database.execute(query)]


def journal_faults(path: Path) -> list[str]:
    """What is wrong with a journal: pages, rows, and answers in the logs beside it that it does not hold.

    Args:
        path: The journal.

    Returns:
        One line for each fault, at most a hundred.

    Raises:
        UserError: It is no journal, or so damaged that it cannot be read at all.
    """
    faults: list[str] = []
    with _readable(path) as database:
        for (message,) in database.execute(f"PRAGMA integrity_check({_MOST_FAULTS})"):
            faults += [] if message == "ok" else [f"{path}: {message}"]
        if not faults:
            faults += [f"{path}: {fault}" for fault in _faulty_rows(database)]
            faults += _unsupported_answers(path.parent, database)
    return faults[:_MOST_FAULTS]


def _faulty_rows(database: sqlite3.Connection) -> Iterator[str]:
    query = "SELECT key, task, document, text, input_tokens, output_tokens, finish_reason FROM responses"
    for key, task, document, text, given, generated, reason in database.execute(query):
        place = f"response {str(key)[:12]!r} (task {task!r}, document {document!r})"
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            yield f"{place}: its key is no SHA-256"
        elif not all(isinstance(number, int) and number >= 0 for number in (document, given, generated)):
            yield f"{place}: document and token counts must be whole numbers from 0, got {given!r} and {generated!r}"
        elif not isinstance(text, str) or not isinstance(reason, str) or not reason:
            yield f"{place}: its text or finish reason is no text"
        elif text and not generated:
            yield f"{place}: has a text of {len(text)} characters and no output token"


def _unsupported_answers(folder: Path, database: sqlite3.Connection) -> Iterator[str]:
    """Answers of the newest logs that no response of their document is equal to."""
    try:
        logs = find_log_files(folder).samples
        newest = {log.task: log.path for log in sorted(logs, key=lambda log: log.date)}
        for task, path in sorted(newest.items()):
            for line in read_json_lines(path):
                document, answer = line.value.get("doc_id"), line.value.get("filtered_resps")
                rows = database.execute(
                    "SELECT text FROM responses WHERE task = ? AND document = ?", (task, document)
                ).fetchall()
                while isinstance(answer, list) and len(answer) == 1:
                    answer = answer[0]
                if not rows and not _failed(line.value):
                    yield f"{path}:{line.number}: document {document!r} is answered in the log and not in the journal"
                elif rows and isinstance(answer, str) and answer not in {text for (text,) in rows}:
                    yield f"{path}:{line.number}: document {document!r} has another answer in the log: {answer[:60]!r}"
    except LogError as error:
        yield str(error)


def _failed(row: Mapping[str, Any]) -> bool:
    """Whether a logged sample has no answer because its request failed."""
    record = row.get("record")
    return isinstance(record, Mapping) and record.get("status") == "error"


def prune_journal(
    path: Path, task: str | None = None, superseded: bool = False, older_than_days: float | None = None,
    dry_run: bool = False,
) -> int:  # fmt: skip
    """Take responses out of a journal and give their space back; what is taken out is answered again when needed.

    The conditions that are given must all hold.

    Args:
        path: The journal.
        task: Responses of this task.
        superseded: Responses to a document that has a newer one (after a change of weights, prompt or engine).
        older_than_days: Responses written longer ago; those of unknown time count as old.
        dry_run: Only count.

    Returns:
        How many responses were (or would be) taken out.

    Raises:
        UserError: No condition is given, the task is unknown, a run is writing the journal, or it cannot be written.
    """
    conditions: list[str] = []
    values: list[object] = []
    if task is not None:
        known = [found.task for found in responses_by_task(path)]
        if task not in known:
            raise UserError("journal: " + unknown_name_message("task", task, known))
        conditions.append("task = ?")
        values.append(task)
    if superseded:
        conditions.append(
            "key NOT IN (SELECT key FROM (SELECT key, row_number() OVER (PARTITION BY task, document "
            "ORDER BY written_at DESC, key DESC) AS place FROM responses) WHERE place = 1)"
        )
    if older_than_days is not None:
        conditions.append("written_at < ?")
        values.append(time.time() - older_than_days * 86_400)
    if not conditions:
        raise UserError("journal prune: say what is to go: --task, --superseded or --older-than")
    where = " AND ".join(conditions)
    with _alone(path), closing(sqlite3.connect(path, isolation_level=None, timeout=5)) as database:
        try:
            database.execute("BEGIN IMMEDIATE")
            add_missing_column(database)
            doomed = database.execute(f"DELETE FROM responses WHERE {where}", values).rowcount
            database.execute("ROLLBACK" if dry_run else "COMMIT")
            if doomed and not dry_run:
                database.execute("VACUUM")
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            raise UserError(f"journal {path}: {error}; free the disk or the file, and prune again") from None
    return doomed


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    try:
        with FileLock(path.with_name(".lock"), timeout=0):
            yield
    except Timeout:
        raise UserError(f"{path}: a run is writing this journal; wait for its end") from None


@contextmanager
def _readable(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True, timeout=5)) as database:
            yield database
    except sqlite3.Error as error:
        raise UserError(
            f"journal {path}: {error}; remove the file to have everything answered anew, or restore it"
        ) from None
