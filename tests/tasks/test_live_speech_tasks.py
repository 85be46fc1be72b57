"""live_asr and live_diarization, pure: the reference as an answer has no error, an empty answer has nothing else."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA
from tliveomni_eval.tasks.live_asr import live_asr_glue
from tliveomni_eval.tasks.live_asr.asr_prompt import asr_prompt
from tliveomni_eval.tasks.live_diarization import live_diarization_glue
from tliveomni_eval.tasks.live_diarization.diarization_prompt import diarization_prompt
from tliveomni_eval.tasks.live_task import document, messages, visuals
from tliveomni_eval.tasks.manifest import Sample, load_samples
from tliveomni_eval.tasks.task_index import read_task_index

GLUE = {"live_asr": live_asr_glue, "live_diarization": live_diarization_glue}
TASKS = tuple(GLUE)


def documents(task: str) -> list[dict[str, Any]]:
    folder = EMBEDDED_DATA / task
    return [document(sample, folder) for sample in load_samples(folder, task)]


def rates(task: str, answer: Callable[[dict[str, Any]], str | None]) -> Iterator[tuple[str, str, float]]:
    """Slice, metric and rate where something is counted."""
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for doc in documents(task):
        logged = GLUE[task].process_results(doc, [answer(doc)])
        slices = ["all", *(f"{key}={value}" for key, value in logged.pop("record")["slices"].items())]
        for metric, counts in logged.items():
            for name in slices:
                sums[name, metric][0] += counts["num"]
                sums[name, metric][1] += counts["den"]
    yield from ((name, metric, num / den) for (name, metric), (num, den) in sums.items() if den)


def reference_of(doc: dict[str, Any]) -> str:
    reference = json.loads(doc["reference"])
    return reference if isinstance(reference, str) else json.dumps(reference, ensure_ascii=False)


def higher_is_better(metric: str) -> bool:
    return metric.endswith(("accuracy", "exact", "precision", "recall", "f1"))


@pytest.mark.parametrize("task", TASKS)
def test_the_reference_has_no_error_on_any_slice(task: str) -> None:
    found = list(rates(task, reference_of))
    assert {name.split("=")[0] for name, _, _ in found} == {"all", *read_task_index()[task].metadata["slices"]}
    assert {metric for _, metric, _ in found} == set(read_task_index()[task].metrics)
    assert [item for item in found if item[2] != (1.0 if higher_is_better(item[1]) else 0.0)] == []


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("answer", ["", None, "   \n", "<think>never ends"])
def test_no_answer_has_every_error_on_every_slice(task: str, answer: str | None) -> None:
    found = list(rates(task, lambda doc: answer))
    assert [item for item in found if item[2] != (0.0 if higher_is_better(item[1]) else 1.0)] == []


@pytest.mark.parametrize("answer", ["I hear a host who sells tea.", "[1, 2]", '{"speaker": "S1"}', "S1 says hello"])
def test_turns_without_times_are_unparsed_and_wrong(answer: str) -> None:
    doc = documents("live_diarization")[0]
    logged = live_diarization_glue.process_results(doc, [answer])
    assert logged["record"]["status"] == "unparsed"
    assert logged["cp_cer"]["num"] == logged["cp_cer"]["den"] > 0


def test_lines_in_place_of_json_are_read() -> None:
    doc = documents("live_diarization")[-1]
    turns = json.loads(doc["reference"])
    lines = "\n".join(f"[{turn['start']}-{turn['end']}] {turn['speaker']}: {turn['text']}" for turn in turns)
    logged = live_diarization_glue.process_results(doc, [lines])
    assert (logged["cp_cer"]["num"], logged["der"]["num"]) == (0, 0)


def test_an_asr_metric_and_a_diarization_metric_know_their_direction() -> None:
    for task in TASKS:
        import yaml

        text = (EMBEDDED_DATA.parent / task / f"{task}.yaml").read_text(encoding="utf-8").replace("!function ", "")
        for entry in yaml.safe_load(text)["metric_list"]:
            assert entry["higher_is_better"] == (entry["metric"] == "record" or higher_is_better(entry["metric"]))


def test_a_prompt_names_the_hotwords_in_the_language_of_the_speech() -> None:
    assert "云沐、KX27" in asr_prompt("zh", ["云沐", "KX27"])
    assert "Velora, KX27" in asr_prompt("en", ["Velora", "KX27"])
    assert "：" not in asr_prompt("mixed", []).replace("例如：", "")
    assert '{"speaker": "S1"' in diarization_prompt("en")
    assert '{"speaker": "S1"' in diarization_prompt("zh") == diarization_prompt("mixed")


def test_chat_models_get_a_path_and_others_decoded_samples() -> None:
    doc = documents("live_asr")[0] | {"prompt": "Write."}
    audio, text = messages(doc)[0]["content"]
    assert audio == {"type": "audio", "url": doc["media"][0]["path"]}
    assert text == {"type": "text", "text": "Write."}
    (clip,) = visuals(doc)
    assert clip["sampling_rate"] == 16_000
    assert clip["array"].ndim == 1
    assert 0.01 < abs(clip["array"]).max() <= 1


def test_an_own_prompt_stays_and_others_get_the_tasks() -> None:
    sample = Sample.model_validate(
        {"id": "a", "task": "live_asr", "reference": "hi", "context": {"lang": "en", "hotwords": ["Velora"]}}
    )
    doc = document(sample, EMBEDDED_DATA)
    prepare = live_asr_glue.LiveTask.prepared
    assert prepare(None, doc)["prompt"] == asr_prompt("en", ["Velora"])  # type: ignore[arg-type]
    assert prepare(None, doc | {"prompt": "Mine."})["prompt"] == "Mine."  # type: ignore[arg-type]
