"""`tlive compose live_localization` and `live_temporal_grounding` write folders that the data check accepts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.tasks.composer.compose_command import command
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA
from tliveomni_eval.tasks.manifest import check_folder
from tliveomni_eval.tasks.media_check import damaged_media
from tliveomni_eval.tasks.task_index import read_task_index

SMALL = {"live_localization": ("--samples", "3"), "live_temporal_grounding": ("--streams", "2", "--duration", "0-30")}


def compose(task: str, out: Path, *options: str) -> Result:
    return CliRunner().invoke(command, [task, "--out", str(out), *SMALL[task], "--workers", "1", *options])


@pytest.mark.parametrize("task", SMALL)
def test_the_embedded_set_begins_with_what_the_command_writes(task: str, tmp_path: Path) -> None:
    result = compose(task, tmp_path / "set")
    assert result.exit_code == 0, result.output
    samples, faults = check_folder(tmp_path / "set", known_tasks=tuple(read_task_index()))
    assert not faults
    assert not damaged_media(tmp_path / "set")
    written = (tmp_path / "set" / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    embedded = (EMBEDDED_DATA / task / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(written) == len(samples) >= 3
    assert written[:3] == embedded[:3]
    record = json.loads((tmp_path / "set" / "generator.json").read_text(encoding="utf-8"))
    assert record["command"].startswith(f"tlive compose {task} --out DIR")


def test_speech_of_the_evaluation_side_is_not_for_training(tmp_path: Path) -> None:
    result = compose("live_temporal_grounding", tmp_path / "set", "--side", "train")
    assert isinstance(result.exception, UserError)
    assert "--bank" in str(result.exception)
    assert not (tmp_path / "set").exists()
