"""Comparisons of stored runs, built when asked for and kept as JSON in the store."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from threading import Event, Lock

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.gate.comparability import run_differences, task_differences
from tliveomni_eval.evals.gate.gate import gate_candidates
from tliveomni_eval.evals.gate.run_trust import input_differences, trust_problems
from tliveomni_eval.evals.logs.run_folder import Run
from tliveomni_eval.leaderboard.page_builder import Comparison, build_overview, pair_tasks
from tliveomni_eval.leaderboard.page_data import PAGE_FORMAT
from tliveomni_eval.leaderboard.page_html import script_safe_json
from tliveomni_eval.leaderboard.paired_samples import PairedSamples
from tliveomni_eval.leaderboard.reported_runs import UNQUANTIZED_VARIANTS
from tliveomni_eval.leaderboard.run_card import ReportedRun
from tliveomni_eval.leaderboard.server.served_media import ServedMedia, StoredMediaFinder
from tliveomni_eval.leaderboard.store.run_store import RunStore
from tliveomni_eval.leaderboard.store.stored_run import StoredRunFacts
from tliveomni_eval.leaderboard.task_page import build_task_page

_MOST_CANDIDATES = 6
_MOST_KEPT = 64
_MOST_IN_MEMORY = 2
_MOST_NOISE_RUNS_TRIED = 3


@dataclass(frozen=True, eq=False, slots=True)
class _Built:
    """A comparison in memory: what the pages of its tasks are made from."""

    comparison: Comparison
    tasks: dict[str, PairedSamples]


class StoredComparisons:
    """Builds and keeps comparisons: the overview first, the samples of a task when they are asked for.

    Args:
        store: The store.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._lock = Lock()
        self._locks: dict[Path, Lock] = {}
        self._built: OrderedDict[Path, _Built] = OrderedDict()

    def default(self) -> tuple[str, list[str]] | None:
        """The newest unquantized run against the newest run of each other variant; None with fewer than two runs."""
        runs = self._store.runs()
        baseline = next((run for run in runs if run.variant in UNQUANTIZED_VARIANTS), runs[-1] if runs else None)
        if baseline is None:
            return None
        newest: dict[str, StoredRunFacts] = {}
        for run in runs:
            if run.run_id != baseline.run_id and (run.variant or run.name) != (baseline.variant or baseline.name):
                newest.setdefault(run.variant or run.name, run)
        chosen = list(newest.values()) or [run for run in runs if run.run_id != baseline.run_id]
        chosen = sorted(chosen[:_MOST_CANDIDATES], key=lambda run: run.variant or run.name)
        return (baseline.run_id, [run.run_id for run in chosen]) if chosen else None

    def keep_default_built(self, ended: Event, every_s: float = 5.0) -> None:
        """Builds the default comparison with its samples, and again whenever runs were added, so that no reader waits.

        Args:
            ended: Set when the server ends.
            every_s: Seconds between two looks at the store.
        """
        while True:
            with suppress(UserError):  # Whoever asks for this comparison is told.
                self._build_default(ended)
            if ended.wait(every_s):
                return

    def _build_default(self, ended: Event) -> None:
        if chosen := self.default():
            self.part(chosen[0], chosen[1], "overview")
            number = 0
            while not ended.is_set() and self.part(chosen[0], chosen[1], f"task-{number}") is not None:
                number += 1

    def part(self, baseline: str, candidates: Sequence[str], name: str) -> str | None:
        """One part of a comparison as JSON.

        Args:
            baseline: Id of the baseline.
            candidates: Ids of the candidates.
            name: `overview`, or `task-0`, `task-1`, ….

        Returns:
            The JSON; None where there is no such part.

        Raises:
            StoreError: If a run is not in the store.
        """
        self._store.require([baseline, *candidates])
        folder = self._store.folder / "pages" / self._key([baseline, *candidates])
        path = folder / f"{name}.json"
        if not path.exists():
            with self._lock:
                lock = self._locks.setdefault(folder, Lock())
            with lock:
                if not path.exists():
                    return self._write(baseline, candidates, name, path)
        return path.read_text(encoding="utf-8")

    def _write(self, baseline: str, candidates: Sequence[str], name: str, path: Path) -> str | None:
        text = self._make(baseline, candidates, name, path.parent)
        if text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(f".{os.getpid()}")
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(path)
            self._forget_oldest()
        return text

    def _key(self, run_ids: Sequence[str]) -> str:
        """Name of the folder of a comparison; other measurements of a checkpoint make it another one."""
        measured = [name for run_id in run_ids for name in self._store.evidence_names(run_id)]
        parts = [*run_ids, *measured, version("tliveomni-eval"), str(PAGE_FORMAT)]
        return hashlib.sha256("/".join(parts).encode()).hexdigest()[:32]

    def _make(self, baseline: str, candidates: Sequence[str], name: str, folder: Path) -> str | None:
        built = self._built.get(folder) or self._build(baseline, candidates)
        with self._lock:
            self._built[folder] = built
            self._built.move_to_end(folder)
            while len(self._built) > _MOST_IN_MEMORY:
                self._built.popitem(last=False)
        if name == "overview":
            title = f"{', '.join(built.tasks)} · {built.comparison.baseline.name}"
            return script_safe_json(build_overview(built.comparison, built.tasks, title, datetime.now(UTC)))
        number = int(name.removeprefix("task-"))
        if not 0 <= number < len(built.tasks):
            return None
        task, paired = list(built.tasks.items())[number]
        media = [self._store.media_of(run_id) for run_id in (baseline, *candidates)]
        finder = StoredMediaFinder({digest: path for of_run in media for digest, path in of_run.items()})
        return script_safe_json(build_task_page(task, paired, finder, ServedMedia()))

    def _build(self, baseline: str, candidates: Sequence[str]) -> _Built:
        runs = [self._store.read(run_id) for run_id in (baseline, *candidates)]
        known = self._store.runs()
        folders = {run.run_id: Path(run.folder) for run in known}
        reported = [
            ReportedRun(folders.get(run.path.name, run.path), run, run.run_info, evidence=self._store.evidence(run))
            for run in runs
        ]
        noise = self._second_baseline(runs[0], known, {baseline, *candidates})
        comparison = Comparison(reported[0], reported[1:], gate_candidates(runs[0], runs[1:], noise=noise))
        return _Built(comparison, pair_tasks(comparison))

    def _second_baseline(self, baseline: Run, known: Sequence[StoredRunFacts], shown: set[str]) -> Run | None:
        """The newest other run of the checkpoint of the baseline that asked the same of it: what differs is noise."""
        if baseline.run_info is None:
            return None
        checkpoint = baseline.run_info.checkpoint.fingerprint
        again = [run.run_id for run in known if run.checkpoint == checkpoint and run.run_id not in shown]
        for run_id in again[:_MOST_NOISE_RUNS_TRIED]:
            run = self._store.read(run_id)
            differing = [*run_differences(baseline, run), *input_differences(baseline, run)]
            if differing or trust_problems("run", run) or not run.tasks.keys() >= baseline.tasks.keys():
                continue
            if not any(task_differences(task, baseline, run) for task in baseline.tasks):
                return run
        return None

    def _forget_oldest(self) -> None:
        kept = sorted((self._store.folder / "pages").iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for folder in kept[_MOST_KEPT:]:
            shutil.rmtree(folder, ignore_errors=True)
