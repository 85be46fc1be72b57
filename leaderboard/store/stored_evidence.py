"""Measurements of checkpoints in the store: one file a measurement, in a folder a checkpoint."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from tliveomni_eval.evals.serving_figures import BenchReport
from tliveomni_eval.leaderboard.evidence import Evidence, collect, fingerprint_of, read_evidence
from tliveomni_eval.leaderboard.store.store_error import StoreError


def keep_evidence(store: Path, path: Path, fingerprint: str | None = None) -> tuple[Path, bool]:
    """Copies a file of `tlive bench` or `tlive parity` into the store.

    Args:
        store: Folder of the store.
        path: The file.
        fingerprint: Fingerprint of the checkpoint, where the file does not say it.

    Returns:
        The copy, and whether it is new.

    Raises:
        UserError: If the file cannot be read, or nobody says what checkpoint it is of.
        OSError: If the store cannot be written.
    """
    found = read_evidence(path)
    of = fingerprint_of(found) or fingerprint
    if of is None:
        raise StoreError(f"{path}: measured a server, whose checkpoint is not known; put it into the folder of its run")
    text = found.model_dump_json()
    kind = "bench" if isinstance(found, BenchReport) else "parity"
    target = _folder(store, of) / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
    if target.exists():
        return target, False
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(target)
    return target, True


def stored_evidence(store: Path, fingerprint: str | None) -> Evidence:
    """What the store holds on a checkpoint.

    Raises:
        UserError: If a file is damaged.
    """
    return collect(read_evidence(path) for path in evidence_files(store, fingerprint))


def evidence_files(store: Path, fingerprint: str | None) -> list[Path]:
    """The files on a checkpoint, by name, which says what they hold."""
    return [] if fingerprint is None else sorted(_folder(store, fingerprint).glob("[!.]*.json"))


def _folder(store: Path, fingerprint: str) -> Path:
    # Hashed, because a run.json may say anything.
    return store / "evidence" / hashlib.sha256(fingerprint.encode("utf-8", "replace")).hexdigest()[:32]
