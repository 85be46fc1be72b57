"""The DuckDB catalogue: which runs are in the store, and the summed counts of every slice of them.

DuckDB lets one process write or several read. Every access therefore takes a file lock, opens the catalogue, and
closes it again: two writers wait for each other for milliseconds, and a reader never keeps one out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
from filelock import FileLock, Timeout
from tliveomni_eval.leaderboard.store.store_error import StoreError

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE runs (
        run_id VARCHAR PRIMARY KEY,
        name VARCHAR NOT NULL,
        variant VARCHAR,
        model VARCHAR,
        checkpoint VARCHAR,
        started TIMESTAMPTZ,
        duration_s DOUBLE,
        samples BIGINT NOT NULL,
        folder VARCHAR NOT NULL,
        added TIMESTAMPTZ NOT NULL,
        environment JSON NOT NULL
    );
    CREATE TABLE results (
        run_id VARCHAR NOT NULL,
        task VARCHAR NOT NULL,
        attribute VARCHAR,
        value VARCHAR,
        metric VARCHAR NOT NULL,
        headline BOOLEAN NOT NULL,
        higher_is_better BOOLEAN NOT NULL,
        num DOUBLE NOT NULL,
        den DOUBLE NOT NULL,
        n BIGINT NOT NULL
    );
    """,
    """
    CREATE TABLE media (
        hash VARCHAR PRIMARY KEY,
        kind VARCHAR NOT NULL,
        mime VARCHAR NOT NULL,
        path VARCHAR NOT NULL,
        bytes BIGINT NOT NULL
    );
    """,
)
"""Each entry moves the catalogue from version i to i + 1. Entries are never edited, only appended."""

_LOCK_WAIT_S = 60


@contextmanager
def open_catalogue(folder: Path, anew: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """Opens the catalogue of a store inside a transaction, migrated to the newest version.

    Args:
        folder: Folder of the store; it exists.
        anew: Whether to begin with an empty catalogue, whatever there is.

    Raises:
        StoreError: If another process holds it for a minute, it is damaged, or a newer program wrote it.
    """
    path = folder / "catalogue.duckdb"
    try:
        with FileLock(folder / ".lock", timeout=_LOCK_WAIT_S), _connect(path, anew) as connection:
            _migrate(connection, path)
            connection.begin()
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()
    except Timeout as error:
        raise StoreError(f"{path}: another process has held the store for {_LOCK_WAIT_S} s; try again") from error
    except (duckdb.IOException, duckdb.CatalogException, duckdb.FatalException) as error:
        raise StoreError(f"{path}: {error}; `tlive store rebuild` makes the catalogue anew from its runs") from error
    except PermissionError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror}") from error


def _connect(path: Path, anew: bool) -> duckdb.DuckDBPyConnection:
    if anew:
        for old in (path, path.with_name(f"{path.name}.wal")):
            old.unlink(missing_ok=True)
    return duckdb.connect(str(path))


def _migrate(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY)")
    row = connection.execute("SELECT coalesce(max(version), 0) FROM migrations").fetchone()
    version = int(row[0]) if row else 0
    if version > len(MIGRATIONS):
        raise StoreError(f"{path}: a newer program wrote this catalogue (version {version}); update tlive")
    for number in range(version, len(MIGRATIONS)):
        connection.begin()
        connection.execute(MIGRATIONS[number])
        connection.execute("INSERT INTO migrations VALUES (?)", [number + 1])
        connection.commit()


def rows(connection: duckdb.DuckDBPyConnection, query: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """The result of a query, one dict a row. Parameters are always bound, never written into the text."""
    result = connection.execute(query, list(parameters))
    names = [column[0] for column in result.description or []]
    return [dict(zip(names, values, strict=True)) for values in result.fetchall()]
