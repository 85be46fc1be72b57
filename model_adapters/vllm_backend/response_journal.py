"""Every response on disk the moment it is complete, found again by everything that determines it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import Response

JOURNAL_NAME = "journal.sqlite"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS responses (
    key TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    document INTEGER NOT NULL,
    text TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    finish_reason TEXT NOT NULL,
    written_at REAL NOT NULL DEFAULT 0
) WITHOUT ROWID
"""


def response_key(
    checkpoint_fingerprint: str, engine: Mapping[str, Any], prompt_key: str, decoding: Mapping[str, Any]
) -> str:
    """SHA-256 over everything that determines a response.

    Args:
        checkpoint_fingerprint: SHA-256 of the checkpoint's files.
        engine: Engine arguments that matter, version and device included; JSON values.
        prompt_key: SHA-256 of rendered prompt and decoded media.
        decoding: Sampling arguments.
    """
    parts = [checkpoint_fingerprint, engine, prompt_key, decoding]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def add_missing_column(database: sqlite3.Connection) -> None:
    """Give the table of an older journal its `written_at` (seconds since 1970, 0 for not known).

    The time decides which of several responses to one document is the newest when a journal is pruned, and nothing
    else: a clock that jumps loses no response and repeats none.
    """
    columns = {row[1] for row in database.execute("PRAGMA table_info(responses)")}
    if "written_at" not in columns:
        database.execute("ALTER TABLE responses ADD COLUMN written_at REAL NOT NULL DEFAULT 0")


class ResponseJournal:
    """An SQLite file of responses, in WAL mode with `synchronous=FULL`: what was written survives a power cut.

    Args:
        path: The file; made when missing.

    Raises:
        UserError: The file cannot be opened or is not a journal.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._database = sqlite3.connect(path, isolation_level=None, timeout=5)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.execute(_SCHEMA)
            add_missing_column(self._database)
        except sqlite3.Error as error:
            raise UserError(f"journal {path}: {error}; free the disk, or remove the file to start anew") from None

    def find(self, key: str) -> Response | None:
        """The response of a key, or None where it was never completed."""
        query = "SELECT text, input_tokens, output_tokens, finish_reason FROM responses WHERE key = ?"
        row = self._database.execute(query, (key,)).fetchone()
        return Response(*row) if row else None

    def write(self, key: str, task: str, document: int, response: Response) -> None:
        """Write a response; it is durable when this returns, and inside `together` at the end of that.

        Raises:
            UserError: It could not be written, e.g. because the disk is full.
        """
        row = (
            key,
            task,
            document,
            response.text,
            response.input_tokens,
            response.output_tokens,
            response.finish_reason,
            time.time(),
        )
        self._change("INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let what is written inside become durable at the end, with one wait for the disk in place of one for each.

        What was written is kept also where something else fails inside.

        Raises:
            UserError: It could not be written, e.g. because the disk is full.
        """
        self._change("BEGIN")
        try:
            yield
        finally:
            if self._database.in_transaction:
                self._change("COMMIT")

    def _change(self, statement: str, values: tuple[Any, ...] = ()) -> None:
        try:
            self._database.execute(statement, values)
        except sqlite3.Error as error:
            raise UserError(
                f"journal {self._path}: {error}; what was completed is kept; free the disk and run again to go on"
            ) from None

    def __len__(self) -> int:
        return int(self._database.execute("SELECT count(*) FROM responses").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
