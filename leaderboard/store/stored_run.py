"""A run as the store keeps it: a folder named by what it holds."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.logs.run_folder import Run
from tliveomni_eval.leaderboard.store.store_error import StoreError

FACTS_NAME = "facts.json"


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


def content_id(run: Run) -> str:
    """16 hexadecimal digits over the logs of a run and its `run.json`."""
    digest = hashlib.sha256()
    for log in run.tasks.values():
        with log.path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    if run.run_info is not None:
        digest.update(run.run_info.model_dump_json().encode())
    return digest.hexdigest()[:16]


def read_facts(folder: Path) -> dict[str, Any]:
    """What was written beside the samples when a run was added.

    Raises:
        StoreError: If it cannot be read.
    """
    try:
        facts: dict[str, Any] = json.loads((folder / FACTS_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder}: damaged: {error}; delete the folder and add the run again") from error
    return facts
