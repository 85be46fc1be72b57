"""docs/abilities.md names tasks, metrics and slices that exist, and at least twenty atomic abilities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tliveomni_eval.tasks.data_location import embedded_folder
from tliveomni_eval.tasks.task_index import read_task_index

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "abilities.md"
ROWS = [
    [cell.strip().replace("`", "") for cell in line.strip("|\n").split("|")]
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| ability")
]


def test_there_are_at_least_twenty() -> None:
    assert len({row[0] for row in ROWS}) == len(ROWS) >= 20


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_says_what_the_task_says(row: list[str]) -> None:
    _, task, slices, metric, sensitivity, modality = row
    entry = read_task_index()[task]
    assert metric in entry.metrics
    assert (sensitivity, modality) == (entry.metadata["sensitivity"], entry.metadata["modality"])
    wanted = {tuple(part.strip().split("=")) for part in slices.split(",") if part.strip()}
    manifest = embedded_folder(task) / "manifest.jsonl"
    if wanted and manifest.is_file():
        lines = map(json.loads, manifest.read_text(encoding="utf-8").splitlines())
        assert wanted <= {item for line in lines if line["task"] == task for item in line["slices"].items()}
