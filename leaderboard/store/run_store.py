"""The store: runs are added once, read back as runs, listed, deleted, and the catalogue can be made anew from them."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from tliveomni_eval.evals.errors import unknown_name_message
from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.run_folder import Run, read_run
from tliveomni_eval.evals.logs.run_info import RUN_INFO_NAME, read_run_info
from tliveomni_eval.leaderboard.evidence import EVIDENCE_NAMES, Evidence
from tliveomni_eval.leaderboard.store.catalogue import open_catalogue, rows
from tliveomni_eval.leaderboard.store.catalogue_rows import RunRows, insert_rows, read_rows
from tliveomni_eval.leaderboard.store.run_writer import write_run
from tliveomni_eval.leaderboard.store.sample_table import read_sample_table
from tliveomni_eval.leaderboard.store.store_error import StoreError
from tliveomni_eval.leaderboard.store.stored_evidence import evidence_files, keep_evidence, stored_evidence
from tliveomni_eval.leaderboard.store.stored_run import StoredRunFacts, content_id, read_facts

_SHORTEST_ID = 4
_MOST_PENDING = 32
"""Runs that are put into the catalogue in one transaction: opening it takes longer than inserting a run."""


@dataclass(frozen=True, slots=True)
class AddedRun:
    """What became of one of several runs.

    Attributes:
        path: Its folder.
        run_id: Its id in the store; None where it was refused.
        is_new: Whether it was not there before.
        problem: Why it was refused; empty otherwise.
    """

    path: Path
    run_id: str | None
    is_new: bool
    problem: str = ""


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
            Its id, and whether it is new: the same logs are never added twice. What was measured since of its
            checkpoint is taken over.

        Raises:
            LogError: If the run did not finish or cannot be read.
            StoreError: If the store cannot be written.
        """
        run_id, pending = self._add_files(path, media_roots)
        if pending is not None:
            self._insert([pending])
        return run_id, pending is not None

    def add_all(self, paths: Iterable[Path], media_roots: Sequence[Path] = ()) -> Iterator[AddedRun]:
        """Adds runs, many at a time in one transaction; a run that cannot be read keeps none of the others out.

        Args:
            paths: Their folders.
            media_roots: Further folders whose media may be shown.

        Yields:
            One result a run, in order, once the run is in the catalogue.

        Raises:
            StoreError: If the store cannot be written.
        """
        results: list[AddedRun] = []
        pending: list[RunRows] = []
        for path in paths:
            try:
                run_id, rows_of_run = self._add_files(path, media_roots)
            except LogError as error:
                results.append(AddedRun(path, None, False, str(error)))
                continue
            results.append(AddedRun(path, run_id, rows_of_run is not None))
            pending += [rows_of_run] if rows_of_run is not None else []
            if len(pending) == _MOST_PENDING:
                self._insert(pending)
                yield from results
                results, pending = [], []
        if pending:
            self._insert(pending)
        yield from results

    def runs(self) -> list[StoredRunFacts]:
        """All runs, newest first."""
        query = """SELECT run_id, name, variant, model, checkpoint, coalesce(started, added) AS started, duration_s,
                   samples, folder FROM runs ORDER BY coalesce(started, added) DESC, name"""
        with open_catalogue(self.folder) as catalogue:
            return [StoredRunFacts(**row) for row in rows(catalogue, query)]

    def task_sizes(self) -> dict[str, int]:
        """The most samples that a run of each task had."""
        query = "SELECT task, max(n) AS n FROM results WHERE headline AND attribute IS NULL GROUP BY task"
        with open_catalogue(self.folder) as catalogue:
            return {row["task"]: row["n"] for row in rows(catalogue, query)}

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
        self.require([run_id])
        folder = self.folder / "runs" / run_id
        logs = [read_sample_table(path) for path in sorted(folder.glob("task-*.parquet"))]
        info = read_run_info(folder / RUN_INFO_NAME) if (folder / RUN_INFO_NAME).exists() else None
        return Run(path=folder, run_info=info, tasks={log.name: log for log in logs}, missing={}, superseded=())

    def require(self, run_ids: Iterable[str]) -> None:
        """Checks that runs are in the store.

        Raises:
            StoreError: If one is not.
        """
        for run_id in run_ids:
            if not run_id.isalnum() or not (self.folder / "runs" / run_id).is_dir():
                raise StoreError(f"run {run_id!r} is not in the store {self.folder}")

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
        folders = sorted(path for path in (self.folder / "runs").iterdir() if path.name.isalnum())
        with open_catalogue(self.folder, anew=True) as catalogue:
            for folder in folders:
                insert_rows(catalogue, read_rows(folder))
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
        facts = read_facts(self.folder / "runs" / run_id)
        return {digest: Path(path) for digest, _, _, path, _ in facts["media"]}

    def evidence(self, run: Run) -> Evidence:
        """What was measured of the checkpoint of a run.

        Raises:
            UserError: If a file of the store is damaged.
        """
        return stored_evidence(self.folder, run.run_info.checkpoint.fingerprint if run.run_info else None)

    def evidence_names(self, run_id: str) -> list[str]:
        """Names of the files of measurements of the checkpoint of a run: they change when something is attached."""
        path = self.folder / "runs" / run_id / RUN_INFO_NAME
        fingerprint = read_run_info(path).checkpoint.fingerprint if path.exists() else None
        return [file.name for file in evidence_files(self.folder, fingerprint)]

    def _add_files(self, path: Path, media_roots: Sequence[Path]) -> tuple[str, RunRows | None]:
        """Writes the folder of a run in the store; what belongs into the catalogue, or None where all is there."""
        run = read_run(path)
        run_id = content_id(run)
        final = self.folder / "runs" / run_id
        self._keep_evidence(run, path)
        if final.exists() and self._has(run_id):
            return run_id, None
        unfinished = self.folder / "runs" / f".{run_id}-{uuid.uuid4().hex}"
        try:
            unfinished.mkdir()
            write_run(run, path, unfinished, self.folder, media_roots)
            try:
                unfinished.rename(final)
            except OSError:
                if not final.exists():  # Otherwise another writer was first, with the same content.
                    raise
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot be written: {error.strerror}") from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        return run_id, read_rows(final)

    def _insert(self, runs: Sequence[RunRows]) -> None:
        with open_catalogue(self.folder) as catalogue:
            for rows_of_run in runs:
                insert_rows(catalogue, rows_of_run)

    def _keep_evidence(self, run: Run, path: Path) -> None:
        fingerprint = run.run_info.checkpoint.fingerprint if run.run_info else None
        try:
            for name in EVIDENCE_NAMES:
                if path.is_dir() and (path / name).is_file():
                    keep_evidence(self.folder, path / name, fingerprint)
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot be written: {error.strerror}") from error

    def _has(self, run_id: str) -> bool:
        with open_catalogue(self.folder) as catalogue:
            return bool(rows(catalogue, "SELECT 1 AS one FROM runs WHERE run_id = ?", [run_id]))
