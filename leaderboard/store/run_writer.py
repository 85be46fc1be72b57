"""Writes a run into a folder of the store: one Parquet file a task, `run.json`, and what is known of its media."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.logs.run_folder import Run
from tliveomni_eval.leaderboard.media_location import MediaLocator, default_media_roots
from tliveomni_eval.leaderboard.store.sample_table import write_sample_table
from tliveomni_eval.leaderboard.store.stored_media import MediaHasher, StoredMedium
from tliveomni_eval.leaderboard.store.stored_run import FACTS_NAME


def write_run(run: Run, path: Path, folder: Path, store: Path, media_roots: Sequence[Path]) -> None:
    """Writes a run.

    Args:
        run: What was read of it.
        path: Its folder, for the media in it.
        folder: An empty folder to write into.
        store: Folder of the store, for thumbnails and media that came inside a log.
        media_roots: Further folders whose media may be shown.

    Raises:
        LogError: If a log changed since it was read.
        OSError: If something cannot be written.
    """
    locator = MediaLocator(default_media_roots([path], media_roots))
    hasher = MediaHasher(store)
    media: dict[str, StoredMedium] = {}

    def media_names(logged: Mapping[str, Any]) -> list[str]:
        found = [known for medium in locator.of_sample(logged) if (known := hasher.store(medium))]
        media.update({medium.hash: medium for medium in found})
        return [f"hash:{medium.hash}" for medium in found]

    for index, log in enumerate(run.tasks.values()):
        write_sample_table(log, folder / f"task-{index:03d}.parquet", media_names)
    hasher.make_thumbnails(media.values())
    if run.run_info is not None:
        run.run_info.write(folder)
    facts = {
        "name": run.name,
        "folder": str(path.resolve()),
        "added": datetime.now(UTC).isoformat(),
        "media": [[m.hash, m.type.kind, m.type.mime, str(m.path), m.size] for m in media.values()],
    }
    (folder / FACTS_NAME).write_text(json.dumps(facts), encoding="utf-8")
