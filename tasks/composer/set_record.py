"""Beside a composed set: how it was made, so that anyone can make it again."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from tliveomni_eval.tasks.composer.live_ocr_set import FINGERPRINT_NAME, MANIFEST_NAME

COMPOSER_FOLDER: Final = Path(__file__).parent


def files_sha256(patterns: Iterable[str]) -> str:
    """SHA-256 over names and bytes of the composer's files that match; patterns are relative to its folder."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in patterns for path in COMPOSER_FOLDER.glob(pattern)}):
        digest.update(path.relative_to(COMPOSER_FOLDER).as_posix().encode("utf-8") + b"\0" + path.read_bytes())
    return digest.hexdigest()


def write_set_record(folder: Path, command: str, generator_sha256: str, **settings: Any) -> None:
    """Write `generator.json`: the command, the generator and the manifest's hash, and what else the set depends on.

    Args:
        folder: A finished set.
        command: What to type to make it again.
        generator_sha256: See `files_sha256`.
        **settings: Number of samples, seed, side, and the like.
    """
    manifest_sha256 = hashlib.sha256((folder / MANIFEST_NAME).read_bytes()).hexdigest()
    record = {
        "command": command,
        "generator_sha256": generator_sha256,
        "manifest_sha256": manifest_sha256,
        **settings,
    }
    (folder / FINGERPRINT_NAME).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
