"""The store: runs are added once, read back as runs, listed, deleted, and the catalogue can be made anew from them."""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from tliveomni_eval.evals.errors import unknown_name_message
from tliveomni_eval.evals.logs.run_folder import Run, read_run
from tliveomni_eval.evals.logs.run_info import RUN_INFO_NAME, RunInfo, read_run_info
from tliveomni_eval.evals.logs.task_log import TaskLog
from tliveomni_eval.leaderboard.media_location import MediaLocator, default_media_roots
from tliveomni_eval.leaderboard.store.catalogue import open_catalogue, rows
from tliveomni_eval.leaderboard.store.sample_table import read_sample_table, write_sample_table
from tliveomni_eval.leaderboard.store.store_error import StoreError
from tliveomni_eval.leaderboard.store.stored_media import MediaHasher, StoredMedium

_FACTS_NAME = "facts.json"
_SHORTEST_ID = 4


@dataclass(frozen=True, slots=True)
class StoredRunFacts:
    """A run as the catalogue lists it.

    Attributes:
        run_id: 16 hexadecimal digits over its logs.
        name: Its name.
        variant: Precision of the backend, where known.
        model: lmms-eval model class, where known.
        checkpoint: Fingerprint of the checkpoint, where known.
        started: When it began; when it was added where that is unknown.
        duration_s: Seconds, where known.
        samples: Samples of all tasks.
        folder: The run folder it came from.
    """

    run_id: str
    name: str
    variant: str | None
    model: str | None
    checkpoint: str | None
    started: datetime
    duration_s: float | None
    samples: int
    folder: str


class RunStore:
    """A store in a folder.

    Args:
        folder: Its folder; made where it does not exist.

    Raises:
        StoreError: If the folder cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            (folder / "runs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{folder}: the store cannot be made: {error.strerror}") from error

    def add(self, path: Path, media_roots: Sequence[Path] = ()) -> tuple[str, bool]:
        """Adds a run.

        Args:
            path: Its folder.
            media_roots: Further folders whose media may be shown.

        Returns:
            Its id, and whether it is new: the same logs are never added twice.

        Raises:
            LogError: If the run did not finish or cannot be read.
            StoreError: If the store cannot be written.
        """
        run = read_run(path)
        run_id = _content_id(run)
        final = self.folder / "runs" / run_id
        if final.exists() and self._has(run_id):
            return run_id, False
        unfinished = self.folder / "runs" / f".{run_id}-{uuid.uuid4().hex}"
        try:
            unfinished.mkdir()
            media = self._write(run, path, unfinished, media_roots)
            try:
                unfinished.rename(final)
            except OSError:
                if not final.exists():  # Otherwise another writer was first, with the same content.
                    raise
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot be written: {error.strerror}") from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        with open_catalogue(self.folder) as catalogue:
            _insert_media(catalogue, media)
            _insert_run(catalogue, run_id, _read_facts(final), final)
        return run_id, True

    def runs(self) -> list[StoredRunFacts]:
        """All runs, newest first."""
        query = """SELECT run_id, name, variant, model, checkpoint, coalesce(started, added) AS started, duration_s,
                   samples, folder FROM runs ORDER BY coalesce(started, added) DESC, name"""
        with open_catalogue(self.folder) as catalogue:
            return [StoredRunFacts(**row) for row in rows(catalogue, query)]

    def find(self, name: str) -> StoredRunFacts:
        """The run of an id, the beginning of one, or a name; of several with one name, the newest.

        Raises:
            StoreError: If there is none.
        """
        known = self.runs()
        ways = [
            [run for run in known if run.run_id == name],
            [run for run in known if run.name == name],
            [run for run in known if run.variant == name],
            [run for run in known if len(name) >= _SHORTEST_ID and run.run_id.startswith(name)],
        ]
        for found in ways:
            if found:
                return found[0]
        raise StoreError(unknown_name_message("run", name, [run.name for run in known]))

    def read(self, run_id: str) -> Run:
        """A run as the gate and the page read it.

        Raises:
            StoreError: If it is not in the store or its files are damaged.
        """
        folder = self.folder / "runs" / run_id
        if not run_id.isalnum() or not folder.is_dir():
            raise StoreError(f"run {run_id!r} is not in the store {self.folder}")
        logs = [read_sample_table(path) for path in sorted(folder.glob("task-*.parquet"))]
        info = read_run_info(folder / RUN_INFO_NAME) if (folder / RUN_INFO_NAME).exists() else None
        return Run(path=folder, run_info=info, tasks={log.name: log for log in logs}, missing={}, superseded=())

    def delete(self, run_ids: Iterable[str]) -> int:
        """Deletes runs for good and returns how many there were; run folders outside the store are not touched."""
        count = 0
        for run_id in run_ids:
            with open_catalogue(self.folder) as catalogue:
                catalogue.execute("DELETE FROM results WHERE run_id = ?", [run_id])
                catalogue.execute("DELETE FROM runs WHERE run_id = ?", [run_id])
            folder = self.folder / "runs" / run_id
            if run_id.isalnum() and folder.is_dir():
                doomed = folder.with_name(f".deleted-{run_id}-{uuid.uuid4().hex}")
                folder.rename(doomed)
                shutil.rmtree(doomed)
                count += 1
        shutil.rmtree(self.folder / "pages", ignore_errors=True)  # Built pages quote samples of deleted runs.
        return count

    def expired(self, keep: int | None, older_than: timedelta | None, now: datetime) -> list[StoredRunFacts]:
        """Runs that a retention rule gives up.

        Args:
            keep: How many of the newest runs of each variant to keep in any case; None keeps none by number.
            older_than: Age from which a run may go; None lets any age go.
            now: The current time.
        """
        seen: dict[str, int] = {}
        gone = []
        for run in self.runs():
            variant = run.variant or run.name
            seen[variant] = seen.get(variant, 0) + 1
            old = older_than is None or now - run.started > older_than
            if old and seen[variant] > (keep or 0):
                gone.append(run)
        return gone

    def rebuild(self) -> int:
        """Makes the catalogue anew from the runs in the store and returns how many there are."""
        for name in ("catalogue.duckdb", "catalogue.duckdb.wal"):
            (self.folder / name).unlink(missing_ok=True)
        folders = sorted(path for path in (self.folder / "runs").iterdir() if path.name.isalnum())
        with open_catalogue(self.folder) as catalogue:
            for folder in folders:
                facts = _read_facts(folder)
                _insert_media_rows(catalogue, facts["media"])
                _insert_run(catalogue, folder.name, facts, folder)
        return len(folders)

    def medium(self, digest: str) -> tuple[Path, str] | None:
        """Path and MIME type of a medium of the store; None where there is none of that hash."""
        with open_catalogue(self.folder) as catalogue:
            found = rows(catalogue, "SELECT path, mime FROM media WHERE hash = ?", [digest])
        return (Path(found[0]["path"]), found[0]["mime"]) if found else None

    def media_of(self, run_id: str) -> dict[str, Path]:
        """Hash to path of all media of a run, without the catalogue.

        Raises:
            StoreError: If the run is damaged.
        """
        facts = _read_facts(self.folder / "runs" / run_id)
        return {digest: Path(path) for digest, _, _, path, _ in facts["media"]}

    def _has(self, run_id: str) -> bool:
        with open_catalogue(self.folder) as catalogue:
            return bool(rows(catalogue, "SELECT 1 AS one FROM runs WHERE run_id = ?", [run_id]))

    def _write(self, run: Run, path: Path, folder: Path, media_roots: Sequence[Path]) -> list[StoredMedium]:
        locator = MediaLocator(default_media_roots([path], media_roots))
        hasher = MediaHasher(self.folder)
        media: dict[str, StoredMedium] = {}
        for index, log in enumerate(run.tasks.values()):
            names: list[list[str]] = []
            for position in range(len(log)):
                found = [hasher.store(medium) for medium in locator.of_sample(log.sample(position))]
                names.append([f"hash:{medium.hash}" for medium in found if medium])
                media.update({medium.hash: medium for medium in found if medium})
            write_sample_table(log, folder / f"task-{index:03d}.parquet", names)
        hasher.make_thumbnails(media.values())
        if run.run_info is not None:
            run.run_info.write(folder)
        facts = {
            "name": run.name,
            "folder": str(path.resolve()),
            "added": datetime.now(UTC).isoformat(),
            "media": [[m.hash, m.type.kind, m.type.mime, str(m.path), m.size] for m in media.values()],
        }
        (folder / _FACTS_NAME).write_text(json.dumps(facts), encoding="utf-8")
        return list(media.values())


def _content_id(run: Run) -> str:
    digest = hashlib.sha256()
    for log in run.tasks.values():
        with log.path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    if run.run_info is not None:
        digest.update(run.run_info.model_dump_json().encode())
    return digest.hexdigest()[:16]


def _read_facts(folder: Path) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = json.loads((folder / _FACTS_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder}: damaged: {error}; delete the folder and add the run again") from error
    return facts


def _insert_media(catalogue: duckdb.DuckDBPyConnection, media: Sequence[StoredMedium]) -> None:
    _insert_media_rows(catalogue, [[m.hash, m.type.kind, m.type.mime, str(m.path), m.size] for m in media])


def _insert_media_rows(catalogue: duckdb.DuckDBPyConnection, values: Sequence[Sequence[Any]]) -> None:
    if values:
        columns = zip(("hash", "kind", "mime", "path", "bytes"), zip(*values, strict=True), strict=True)
        catalogue.register("new_media", pa.table({name: list(column) for name, column in columns}))
        catalogue.execute("INSERT OR IGNORE INTO media SELECT hash, kind, mime, path, bytes FROM new_media")
        catalogue.unregister("new_media")


def _insert_run(catalogue: duckdb.DuckDBPyConnection, run_id: str, facts: dict[str, Any], folder: Path) -> None:
    info = read_run_info(folder / RUN_INFO_NAME) if (folder / RUN_INFO_NAME).exists() else None
    logs = [read_sample_table(path) for path in sorted(folder.glob("task-*.parquet"))]
    catalogue.execute(
        "INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            run_id,
            facts["name"],
            info.variant if info else None,
            info.model if info else None,
            info.checkpoint.fingerprint if info else None,
            info.start if info else None,
            info.duration_s if info else None,
            sum(len(log) for log in logs),
            facts["folder"],
            datetime.fromisoformat(facts["added"]),
            _environment(info),
        ],
    )
    catalogue.execute("DELETE FROM results WHERE run_id = ?", [run_id])
    summed = [[run_id, *row] for log in logs for row in _summed(log)]
    if summed:
        columns = list(zip(*summed, strict=True))
        names = ["run_id", "task", "attribute", "value", "metric", "headline", "higher_is_better", "num", "den", "n"]
        table = {name: list(column) for name, column in zip(names, columns, strict=True)}
        new_results = pa.table(table)
        catalogue.register("new_results", new_results)
        catalogue.execute(f"INSERT INTO results SELECT {', '.join(names)} FROM new_results")
        catalogue.unregister("new_results")


def _environment(info: RunInfo | None) -> str:
    return (
        info.model_dump_json(include={"versions", "hardware", "engine_args", "decoding", "data", "prompts"})
        if info
        else "{}"
    )


def _summed(log: TaskLog) -> list[list[Any]]:
    """Counts of every slice and metric; a set metric has no sum and is left out."""
    found: list[list[Any]] = []
    for name, column in log.metrics.items():
        if column.payloads is not None:
            continue
        facts = [name, name == log.headline, column.higher_is_better is not False]
        found.append([log.name, None, None, *facts, float(column.num.sum()), float(column.den.sum()), len(log)])
        for attribute, values in log.slices.items():
            inside = values.codes >= 0
            size = len(values.values)
            codes = values.codes[inside]
            num = np.bincount(codes, column.num[inside], size)
            den = np.bincount(codes, column.den[inside], size)
            n = np.bincount(codes, minlength=size)
            found += [
                [log.name, attribute, value, *facts, float(num[code]), float(den[code]), int(n[code])]
                for code, value in enumerate(values.values)
            ]
    return found
