"""live_selling_points and live_caption: the set, the oracle on every slice, silence, and faults that are named."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from declared_adapters import OracleAdapter
from task_runs import load, run_task
from tliveomni_eval.tasks.data_location import data_folder, embedded_folder
from tliveomni_eval.tasks.fact_sample import FACT_TASKS, reference_facts
from tliveomni_eval.tasks.manifest import check_folder, load_samples
from tliveomni_eval.tasks.task_index import read_task_index


@pytest.mark.parametrize("task", FACT_TASKS)
def test_the_samples_share_the_streams_of_live_temporal_grounding(task: str) -> None:
    entry = read_task_index()[task]
    samples = load_samples(embedded_folder(task), task)
    grounding = "live_temporal_grounding"
    streams = {sample.cluster for sample in load_samples(embedded_folder(grounding), grounding)}
    assert len(samples) == entry.embedded_samples >= 90
    assert len({sample.cluster for sample in samples}) == len(samples)
    assert {sample.cluster for sample in samples} <= streams
    for sample in samples:
        facts = reference_facts(sample.reference)
        assert len({fact.text for fact in facts}) == len(facts) >= 2
        assert set(sample.slices) == set(entry.metadata["slices"])


def test_facts_are_what_the_evidence_gives() -> None:
    kinds: dict[str, Counter[str]] = {}
    for sample in load_samples(embedded_folder("live_selling_points"), "live_selling_points"):
        found = kinds.setdefault(sample.slices["evidence"], Counter())
        found.update({fact.kind for fact in reference_facts(sample.reference)})
    assert set(kinds["seen"]) == {"product", "brand", "price"} and set(kinds["seen"].values()) == {60}
    assert set(kinds["heard"]) == {"name", "praise", "service", "gift"} and kinds["heard"]["name"] == 30
    assert set(kinds["both"]) == {"name", "praise", "service", "gift", "price"} and kinds["both"]["price"] == 30


def test_a_folder_of_ones_own_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert data_folder("live_caption", str(tmp_path)) == tmp_path
    monkeypatch.setenv("TLIVE_DATA", str(tmp_path))
    assert data_folder("live_caption") == tmp_path
    monkeypatch.delenv("TLIVE_DATA")
    assert data_folder("live_caption") == data_folder("live_temporal_grounding")


@pytest.mark.parametrize("task", FACT_TASKS)
def test_the_oracle_is_perfect_and_silence_is_nothing(task: str) -> None:
    loaded = load(task)
    rates, lines = run_task(loaded, lambda doc: OracleAdapter().answer(task, doc))
    assert set(rates.values()) == {1.0}
    assert {line["record"]["status"] for line in lines} == {"ok"}
    rates, lines = run_task(loaded, lambda doc: "")
    assert rates[read_task_index()[task].metadata["headline"]] == 0.0
    assert {line["record"]["status"] for line in lines} == {"empty"}


@pytest.mark.parametrize("task", FACT_TASKS)
def test_messages_hold_the_video_and_a_prompt_of_the_samples_language(task: str) -> None:
    loaded = load(task)
    for doc in list(loaded.eval_docs)[:20]:
        (message,) = loaded.doc_to_messages(doc)
        assert [part["type"] for part in message["content"]] == ["video", "text"]
        assert Path(message["content"][0]["url"]).is_file()
        is_chinese = any("\u4e00" <= character <= "\u9fff" for character in message["content"][1]["text"])
        assert is_chinese == (json.loads(doc["context"])["lang"] == "zh")


@pytest.mark.parametrize(
    "changes, field, message",
    [
        ({"reference": []}, "reference", "at least one fact"),
        ({"reference": "red mug"}, "reference", "at least one fact"),
        ({"reference": ["!"]}, "reference", "fact 0: a fact needs a letter"),
        ({"reference": ["ok", {"text": "b", "alias": []}]}, "reference", "fact 1"),
        ({"reference": [{"text": "b", "aliases": [3]}]}, "reference", "aliases is a list"),
        ({"context": {"lang": "fr"}}, "context.lang", "zh or en"),
        ({"context": {"evidence": "felt"}}, "context.evidence", "seen or heard or both"),
        ({"media": []}, "media", "exactly one video, got none"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, changes: dict[str, Any], field: str, message: str) -> None:
    (tmp_path / "a.mp4").write_bytes(b"0")
    line = {"id": "a", "task": "live_caption", "media": ["a.mp4"], "reference": ["red mug"], **changes}
    (tmp_path / "manifest.jsonl").write_text(json.dumps(line), encoding="utf-8")
    _, faults = check_folder(tmp_path, "live_caption")
    assert [(fault.line, fault.field) for fault in faults] == [(1, field)]
    assert message in faults[0].message
