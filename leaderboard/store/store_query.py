"""SQL over a store: the catalogue and every sample, in memory, so that no query changes the store or blocks it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd
from tliveomni_eval.leaderboard.store.catalogue import open_catalogue
from tliveomni_eval.leaderboard.store.store_error import StoreError

TABLES = ("runs", "results", "media")
"""Tables of the catalogue. Beside them stands the view `samples`: one row a sample, with `run_id` and `task_file`."""


def query_store(folder: Path, sql: str) -> pd.DataFrame:
    """Runs one query.

    The query sees copies of `TABLES` and the view `samples` over the Parquet files; other files it cannot read.

    Args:
        folder: Folder of the store.
        sql: The query, in the SQL of DuckDB.

    Returns:
        Its rows.

    Raises:
        StoreError: If the query is wrong; the message is DuckDB's.
    """
    with duckdb.connect() as memory:
        with open_catalogue(folder) as catalogue:
            copies = {name: catalogue.table(name).to_arrow_table() for name in TABLES}
        for name, table in copies.items():
            memory.register("copied", table)
            memory.execute(f"CREATE TABLE {name} AS SELECT * FROM copied")
            memory.unregister("copied")
        runs = (folder / "runs").resolve()
        memory.execute(f"SET allowed_directories = [{_literal(str(runs) + '/')}]")
        memory.execute("SET enable_external_access = false")
        memory.execute("SET lock_configuration = true")
        if any(runs.glob("[!.]*/task-*.parquet")):
            memory.execute(_samples_view(runs))
        try:
            return memory.execute(sql).df()
        except duckdb.Error as error:
            raise StoreError(f"the query failed: {str(error).strip()}") from error


def _samples_view(runs: Path) -> str:
    files = _literal(f"{runs}/*/task-*.parquet")
    path = "string_split(filename, '/')"
    return (
        f"CREATE VIEW samples AS SELECT {path}[-2] AS run_id, {path}[-1] AS task_file, * EXCLUDE (filename) "
        f"FROM read_parquet({files}, union_by_name = true, filename = true) WHERE NOT starts_with({path}[-2], '.')"
    )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
