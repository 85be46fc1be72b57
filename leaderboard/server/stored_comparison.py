"""Comparisons of stored runs, built once and kept as JSON in the store."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

from tliveomni_eval.evals.gate.gate import gate_candidates
from tliveomni_eval.leaderboard.media_kind import SNIFFED_BYTES, MediaType, sniff
from tliveomni_eval.leaderboard.media_location import FoundMedium
from tliveomni_eval.leaderboard.page_builder import Comparison, build_overview, pair_tasks
from tliveomni_eval.leaderboard.page_data import PAGE_FORMAT
from tliveomni_eval.leaderboard.page_html import script_safe_json
from tliveomni_eval.leaderboard.reported_runs import UNQUANTIZED_VARIANTS
from tliveomni_eval.leaderboard.run_card import ReportedRun
from tliveomni_eval.leaderboard.store.run_store import RunStore
from tliveomni_eval.leaderboard.store.stored_run import StoredRunFacts
from tliveomni_eval.leaderboard.task_page import build_task_page
from tliveomni_eval.leaderboard.task_page_data import MediaItem
from tliveomni_eval.leaderboard.waveform import waveform

_MOST_CANDIDATES = 6
_MOST_KEPT = 64


class StoredMediaFinder:
    """Media of stored samples: names of the form `hash:…`.

    Args:
        paths: Hash to path, for all media of the runs.
    """

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths
        self._known: dict[str, FoundMedium] = {}

    def of_sample(self, logged: Mapping[str, Any]) -> list[FoundMedium]:
        """See `MediaFinder`."""
        names = logged.get("input_media") or []
        return [self._find(name.removeprefix("hash:")) for name in names]

    def _find(self, digest: str) -> FoundMedium:
        if digest not in self._known:
            self._known[digest] = self._look_up(digest)
        return self._known[digest]

    def _look_up(self, digest: str) -> FoundMedium:
        path = self._paths.get(digest)
        if path is None:
            return FoundMedium(digest, reason="not in the store")
        media_type = _type_of(path)
        if media_type is None:
            return FoundMedium(path.name, reason="no longer where it was when the run was added")
        return FoundMedium(path.name, path=path, type=media_type, size=path.stat().st_size, digest=digest)


class ServedMedia:
    """Media by the addresses of the server."""

    def include(self, medium: FoundMedium, important: bool) -> MediaItem:
        """See `MediaInclusion`; every medium is included, because none is sent before it is asked for."""
        if medium.type is None or medium.path is None:
            return MediaItem(kind="image", name=medium.name, reason=medium.reason)
        outline = waveform(medium.path) if medium.type.kind == "audio" else None
        return MediaItem(
            kind=medium.type.kind,
            name=medium.name,
            source=f"media/{medium.digest}",
            thumbnail=f"thumbnails/{medium.digest}" if medium.type.kind == "image" else "",
            bytes=medium.size,
            peaks=outline.peaks if outline else [],
            duration_s=outline.duration_s if outline else None,
        )


class StoredComparisons:
    """Builds and keeps comparisons.

    Args:
        store: The store.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._lock = Lock()

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

    def build_default(self) -> None:
        """Builds the default comparison, so that the first reader does not wait for it."""
        if chosen := self.default():
            self.part(chosen[0], chosen[1], "overview")

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
        key = "/".join([baseline, *candidates, version("tliveomni-eval"), str(PAGE_FORMAT)])
        folder = self._store.folder / "pages" / hashlib.sha256(key.encode()).hexdigest()[:32]
        with self._lock:
            if not (folder / "overview.json").exists():
                self._build(baseline, candidates, folder)
                self._forget_oldest()
        path = folder / f"{name}.json"
        return path.read_text(encoding="utf-8") if path.exists() else None

    def _build(self, baseline: str, candidates: Sequence[str], folder: Path) -> None:
        runs = [self._store.read(run_id) for run_id in (baseline, *candidates)]
        names = {run.run_id: run for run in self._store.runs()}
        reported = [
            ReportedRun(Path(names[run.path.name].folder) if run.path.name in names else run.path, run, run.run_info)
            for run in runs
        ]
        report = gate_candidates(runs[0], runs[1:])
        comparison = Comparison(reported[0], reported[1:], report)
        tasks = pair_tasks(comparison)
        title = f"{', '.join(tasks)} · {reported[0].name}"
        overview = build_overview(comparison, tasks, title, datetime.now(UTC))
        folder.mkdir(parents=True, exist_ok=True)
        paths = {digest: path for run in runs for digest, path in self._store.media_of(run.path.name).items()}
        finder = StoredMediaFinder(paths)
        for index, (name, paired) in enumerate(tasks.items()):
            page = build_task_page(name, paired, finder, ServedMedia())
            (folder / f"task-{index}.json").write_text(script_safe_json(page), encoding="utf-8")
        # Written last: its presence says that the comparison is complete.
        (folder / "overview.json").write_text(script_safe_json(overview), encoding="utf-8")

    def _forget_oldest(self) -> None:
        kept = sorted((self._store.folder / "pages").iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for folder in kept[_MOST_KEPT:]:
            shutil.rmtree(folder, ignore_errors=True)


def _type_of(path: Path) -> MediaType | None:
    try:
        with path.open("rb") as file:
            return sniff(file.read(SNIFFED_BYTES))
    except OSError:
        return None
