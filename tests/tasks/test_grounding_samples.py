"""Localization and temporal grounding: declared forms and spaces, and faults that are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from task_runs import load
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.tasks.live_localization.localization_prompt import declared_space, localization_prompt
from tliveomni_eval.tasks.live_temporal_grounding.grounding_prompt import grounding_prompt
from tliveomni_eval.tasks.manifest import check_folder


def test_the_space_is_the_samples_own_then_the_variables_then_the_profiles() -> None:
    profiles = {"default": "relative_1000", "absolute_model": "pixels"}
    variable = {"TLIVE_COORDINATE_SPACE": "pixels"}
    assert declared_space({}, profiles, "any", {}) == "relative_1000"
    assert declared_space({}, profiles, "absolute_model", {}) == "pixels"
    assert declared_space({}, profiles, "any", variable) == "pixels"
    assert declared_space({"coordinate_space": "relative_1000"}, profiles, "any", variable) == "relative_1000"
    with pytest.raises(UserError, match="TLIVE_COORDINATE_SPACE='percent'"):
        declared_space({}, profiles, "any", {"TLIVE_COORDINATE_SPACE": "percent"})


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_prompts_declare_form_and_space(lang: str) -> None:
    relative = localization_prompt("mug", "mug", lang, "relative_1000", 320, 256)
    pixels = localization_prompt("mug", "mug", lang, "pixels", 320, 256)
    assert "bbox_2d" in relative and "1000" in relative and "320" not in relative
    assert "320" in pixels and "256" in pixels and "1000" not in pixels
    assert '"start"' in grounding_prompt("When?", lang)
    assert "00:12.5" in grounding_prompt("When?", lang, "mm:ss")


def write_set(folder: Path, **changes: Any) -> Path:
    folder.mkdir()
    line = {
        "id": "a",
        "task": "live_localization",
        "media": ["a.png"],
        "reference": [[10, 10, 60, 50]],
        "context": {"lang": "en", "query": "mug"},
    }
    (folder / "manifest.jsonl").write_text(json.dumps(line | changes) + "\n", encoding="utf-8")
    Image.new("RGB", (100, 80)).save(folder / "a.png")
    (folder / "a.mp4").write_bytes(b"video")
    return folder


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"reference": "10,10,60,50"}, "reference", "list of [x1, y1, x2, y2]"),
        ({"reference": [[60, 10, 10, 50]]}, "reference", "box 0"),
        ({"reference": [[10, 10, 60]]}, "reference", "box 0"),
        ({"context": {}}, "context.query", "missing"),
        ({"context": {"query": "mug", "lang": "fr"}}, "context.lang", "'fr'"),
        ({"context": {"query": "mug", "coordinate_space": "percent"}}, "context.coordinate_space", "'percent'"),
        ({"media": ["a.mp4"]}, "media", "exactly one image"),
        ({"media": []}, "media", "got none"),
        ({"task": "live_temporal_grounding", "media": ["a.mp4"]}, "context.question", "missing"),
        (
            {"task": "live_temporal_grounding", "media": ["a.mp4"], "prompt": "When?", "reference": [[5, 2]]},
            "reference",
            "span 0",
        ),
    ],
)
def test_a_fault_names_its_field(tmp_path: Path, changes: dict[str, Any], field: str, says: str) -> None:
    _, faults = check_folder(write_set(tmp_path / "set", **changes))
    assert any(fault.field == field and says in fault.message for fault in faults)


def test_own_data_with_own_prompt_and_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = {"coordinate_space": "pixels", "compare_labels": True}
    reference = [{"box": [10, 10, 60, 50], "label": "Mug"}]
    folder = write_set(tmp_path / "set", prompt="Boxes in pixels, please.", context=context, reference=reference)
    monkeypatch.setenv("TLIVE_DATA", str(folder))
    task = load("live_localization")
    (doc,) = task.eval_docs
    assert doc["prompt"] == "Boxes in pixels, please."
    for answer, expected in (
        ('[{"bbox_2d": [10, 10, 60, 50], "label": "mug"}]', 1.0),
        ('[{"bbox_2d": [10, 10, 60, 50], "label": "shoe"}]', 0.0),
        ('[{"bbox_2d": [100, 125, 600, 625], "label": "mug"}]', 0.0),
    ):
        scored = task.process_results(doc, [answer])
        assert scored["f1@0.5"]["num"] / scored["f1@0.5"]["den"] == expected
        assert scored["record"]["status"] == "ok"


def test_messages_hold_the_picture_and_the_prompt() -> None:
    task = load("live_localization")
    doc = task.eval_docs[0]
    (message,) = task.doc_to_messages(doc)
    kinds = [part["type"] for part in message["content"]]
    assert kinds == ["image", "text"]
    assert message["content"][0]["url"].size == (doc["width"], doc["height"])
