"""Where the embedded checkpoints are, and whether their files are the ones that were published.

`checkpoints/checkpoints.json` records the sha256 of every file of every variant. After writing a variant's folder,
`python -m tliveomni_eval.model_adapters.nano.embedded_checkpoints record VARIANT` records it; `verify` checks all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

from tliveomni_eval.evals.errors import UserError, unknown_name_message

CHECKPOINTS_FOLDER = Path(__file__).with_name("checkpoints")
RECORD_NAME = "checkpoints.json"
VARIANTS: tuple[str, ...] = ("bf16", "w8a8", "w4a16", "fp8", "w4naive")
"""Precisions that nano is published in."""


class CheckpointError(UserError):
    """A variant is unknown or absent, or its files are not the published ones."""


def _known_variant(variant: str) -> str:
    if variant in VARIANTS:
        return variant
    raise CheckpointError(unknown_name_message("variant", variant, VARIANTS))


def checkpoint_path(variant: str, folder: Path = CHECKPOINTS_FOLDER) -> Path:
    """The folder of a variant's checkpoint.

    Args:
        variant: One of `VARIANTS`.
        folder: Folder that holds one folder a variant.

    Raises:
        CheckpointError: If the variant is unknown, or its folder holds no checkpoint.
    """
    path = folder / _known_variant(variant)
    for name in ("config.json", "model.safetensors"):
        if not (path / name).is_file():
            raise CheckpointError(
                f"the checkpoint of variant {variant!r} is incomplete: {path / name} is missing; "
                "reinstall the package, or make quantized variants with `make quantize`"
            )
    return path


def available_variants(folder: Path = CHECKPOINTS_FOLDER) -> tuple[str, ...]:
    """Variants whose checkpoint is present, in the order of `VARIANTS`."""
    return tuple(variant for variant in VARIANTS if (folder / variant / "model.safetensors").is_file())


def file_digests(path: Path) -> dict[str, str]:
    """sha256 in hex of every file directly in a checkpoint folder, by name."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(path.iterdir()) if file.is_file()
    }


def recorded_digests(folder: Path = CHECKPOINTS_FOLDER) -> dict[str, dict[str, str]]:
    """The record: variant to file name to sha256; empty if there is none yet.

    Raises:
        CheckpointError: If the record cannot be parsed.
    """
    path = folder / RECORD_NAME
    if not path.is_file():
        return {}
    try:
        record: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise CheckpointError(f"{path}, line {error.lineno}: not valid JSON ({error.msg}); restore it") from None
    return record


def verify_checksums(variant: str, folder: Path = CHECKPOINTS_FOLDER) -> None:
    """Checks every file of a variant against the record.

    Raises:
        CheckpointError: If the variant is not recorded, or a file is missing, was added or differs.
    """
    path = checkpoint_path(variant, folder)
    expected = recorded_digests(folder).get(variant)
    if expected is None:
        raise CheckpointError(f"variant {variant!r} is not recorded in {folder / RECORD_NAME}")
    found = file_digests(path)
    for name in sorted(set(expected) | set(found)):
        if name not in found:
            raise CheckpointError(f"{path / name} is missing; restore it from the repository")
        if name not in expected:
            raise CheckpointError(f"{path / name} is not part of the published checkpoint; remove it")
        if found[name] != expected[name]:
            raise CheckpointError(
                f"{path / name} differs from the published file (sha256 {found[name][:12]}…, "
                f"expected {expected[name][:12]}…); restore it from the repository"
            )


def record_checksums(variant: str, folder: Path = CHECKPOINTS_FOLDER) -> None:
    """Writes a variant's checksums into the record, keeping the other variants'.

    Raises:
        CheckpointError: If the variant is unknown or incomplete.
    """
    path = checkpoint_path(variant, folder)
    record = {**recorded_digests(folder), variant: file_digests(path)}
    ordered = {name: record[name] for name in VARIANTS if name in record}
    (folder / RECORD_NAME).write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")


def main(argv: list[str] | None = None) -> int:
    """Records or verifies checksums; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("record", "verify"))
    parser.add_argument("variants", nargs="*", help="default: those present")
    arguments = parser.parse_args(argv)
    try:
        for variant in arguments.variants or available_variants():
            (record_checksums if arguments.action == "record" else verify_checksums)(variant)
            print(f"{variant}: {arguments.action} ok")
    except CheckpointError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
