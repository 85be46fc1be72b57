"""`tlive compose live_ocr` writes a folder that the data check accepts, the same one for the same arguments."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.tasks.composer.compose_command import command
from tliveomni_eval.tasks.manifest import check_folder
from tliveomni_eval.tasks.media_check import damaged_media


def compose(out: Path, *options: str) -> object:
    arguments = ["live_ocr", "--out", str(out), "--samples", "7", "--workers", "1", *options]
    return CliRunner().invoke(command, arguments, catch_exceptions=True)


def test_the_folder_passes_the_data_check(tmp_path: Path) -> None:
    result = compose(tmp_path / "set")
    assert result.exit_code == 0, result.output  # type: ignore[attr-defined]
    samples, faults = check_folder(tmp_path / "set", known_tasks=("live_ocr",))
    assert not faults
    assert not damaged_media(tmp_path / "set")
    assert sorted(sample.id for sample in samples) == [f"live_ocr-{index:05d}" for index in range(7)]


def test_a_seed_gives_the_same_manifest_and_another_seed_or_side_another(tmp_path: Path) -> None:
    manifests = []
    for name, options in (
        ("a", ["--seed", "5"]),
        ("b", ["--seed", "5"]),
        ("c", ["--seed", "6"]),
        ("d", ["--seed", "5", "--side", "train"]),
    ):
        compose(tmp_path / name, *options)
        manifests.append((tmp_path / name / "manifest.jsonl").read_text(encoding="utf-8"))
    assert manifests[0] == manifests[1]
    assert len(set(manifests)) == 3


def test_the_record_of_the_generator_holds_the_command(tmp_path: Path) -> None:
    compose(tmp_path / "set", "--seed", "9", "--side", "train")
    record = json.loads((tmp_path / "set" / "generator.json").read_text(encoding="utf-8"))
    assert record["command"].endswith("--samples 7 --side train --seed 9")
    assert len(record["generator_sha256"]) == 64


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep", encoding="utf-8")
    result = compose(tmp_path)
    assert isinstance(result.exception, UserError)  # type: ignore[attr-defined]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
