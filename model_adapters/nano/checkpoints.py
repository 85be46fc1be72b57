"""The embedded checkpoints of TLiveOmni-nano by variant, and the record of their checksums.

`checkpoints.json` holds `{variant: {file: sha256}}`. After making a variant, run
`python -m tliveomni_eval.model_adapters.nano.checkpoints VARIANT …` to record it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from tliveomni_eval.evals.errors import UserError, unknown_name_message

VARIANTS = ("bf16", "w8a8", "w4a16", "fp8", "w4naive")
CHECKPOINT_FOLDER = Path(__file__).parent / "checkpoints"
CHECKSUM_RECORD = Path(__file__).parent / "checkpoints.json"


def checkpoint_path(variant: str) -> Path:
    """Folder of an embedded checkpoint.

    Args:
        variant: One of `VARIANTS`.

    Raises:
        UserError: The variant is unknown, or its files are not there.
    """
    if variant not in VARIANTS:
        raise UserError(unknown_name_message("variant", variant, VARIANTS))
    folder = CHECKPOINT_FOLDER / variant
    if not (folder / "config.json").is_file():
        raise UserError(f"the embedded checkpoint {variant!r} is not in {CHECKPOINT_FOLDER}; restore it with git checkout")
    return folder


def checksums(variant: str) -> dict[str, str]:
    """File name to SHA-256 of what is on disk.

    Args:
        variant: One of `VARIANTS`.
    """
    folder = checkpoint_path(variant)
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def recorded_checksums() -> dict[str, dict[str, str]]:
    """Variant to file name to SHA-256, as recorded when they were made; empty where nothing is."""
    if not CHECKSUM_RECORD.is_file():
        return {}
    record: dict[str, dict[str, str]] = json.loads(CHECKSUM_RECORD.read_text(encoding="utf-8"))
    return record


def verify_checksums(variant: str) -> None:
    """Compare an embedded checkpoint with its record.

    Args:
        variant: One of `VARIANTS`.

    Raises:
        UserError: A file is missing, added or changed.
    """
    recorded, found = recorded_checksums().get(variant, {}), checksums(variant)
    differing = sorted(name for name in recorded.keys() | found.keys() if recorded.get(name) != found.get(name))
    if differing:
        raise UserError(f"embedded checkpoint {variant!r}: {', '.join(differing)} differ from {CHECKSUM_RECORD.name}")


def record_checksums(variants: list[str]) -> None:
    """Write the checksums of variants into the record.

    Args:
        variants: Some of `VARIANTS`.
    """
    record = recorded_checksums() | {variant: checksums(variant) for variant in variants}
    ordered = {variant: record[variant] for variant in VARIANTS if variant in record}
    CHECKSUM_RECORD.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record_checksums(sys.argv[1:] or [variant for variant in VARIANTS if (CHECKPOINT_FOLDER / variant).is_dir()])
