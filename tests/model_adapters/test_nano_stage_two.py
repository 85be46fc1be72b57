"""Samples of every ability flow into batches of a TLiveOmni that grew from stage one; a few steps learn."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.metrics.diarization import score_diarization
from tliveomni_eval.evals.metrics.localization import score_localization
from tliveomni_eval.evals.metrics.temporal_grounding import score_temporal_grounding
from tliveomni_eval.model_adapters.nano.curriculum import Schedule
from tliveomni_eval.model_adapters.nano.embedded_checkpoints import checkpoint_path
from tliveomni_eval.model_adapters.nano.omni_architecture import AudioDimensions
from tliveomni_eval.model_adapters.nano.omni_batch import IGNORED, training_batch
from tliveomni_eval.model_adapters.nano.taught_samples import TAUGHT_TASKS, TaughtSample, taught_sample
from tliveomni_eval.model_adapters.nano.train_omni import OmniTraining, read_taught_samples
from tliveomni_eval.model_adapters.tliveomni.registration import register
from tliveomni_eval.tasks.data_location import data_folder
from tliveomni_eval.tasks.grounding_sample import reference_boxes, reference_spans
from tliveomni_eval.tasks.image_file import image_size
from tliveomni_eval.tasks.manifest import Sample, load_samples
from tliveomni_eval.tasks.speech_sample import reference_turns, speech_language

SMALL_AUDIO = AudioDimensions(
    d_model=64, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=64, downsample_hidden_size=8,
    deepstack_layer_indexes=(0, 1),
)  # fmt: skip
EMBEDDED = {task: data_folder(task) for task in TAUGHT_TASKS}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Any:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def embedded() -> dict[str, list[Sample]]:
    return {task: load_samples(folder, task)[:60] for task, folder in EMBEDDED.items()}


@pytest.fixture(scope="module")
def taught(embedded: dict[str, list[Sample]]) -> list[TaughtSample]:
    """Two samples a task; of streams, two with sound beside them."""
    chosen = [sample for samples in embedded.values() for sample in samples[:2]]
    streams = embedded["live_temporal_grounding"]
    chosen += [sample for sample in streams if sample.slices["evidence"] == "heard"][:2]
    return [taught_sample(sample, EMBEDDED[sample.task]) for sample in chosen]


@pytest.fixture(scope="module")
def training(taught: list[TaughtSample]) -> OmniTraining:
    return OmniTraining(taught, checkpoint_path("bf16"), SMALL_AUDIO, Schedule(3e-3, warmup_steps=0), seed=1)


def test_answers_that_are_taught_score_as_right(embedded: dict[str, list[Sample]]) -> None:
    for sample in embedded["live_localization"]:
        folder = EMBEDDED[sample.task]
        answer = taught_sample(sample, folder).answer
        width, height = image_size(folder / sample.media[0].path)
        boxes = reference_boxes(sample.reference)
        score, _ = score_localization(
            boxes, answer, space="relative_1000", width=width, height=height, compare_labels=False
        )
        assert score.status == "ok"
        assert score.counts["f1@0.75"].num == score.counts["f1@0.75"].den
    for sample in embedded["live_temporal_grounding"]:
        answer = taught_sample(sample, EMBEDDED[sample.task]).answer
        score = score_temporal_grounding(reference_spans(sample.reference), answer)
        assert score.status == "ok"
        assert score.counts["f1@0.7"].num == score.counts["f1@0.7"].den
    for sample in embedded["live_diarization"][:8]:
        answer = taught_sample(sample, EMBEDDED[sample.task]).answer
        turns = reference_turns(sample.reference)
        diarized = score_diarization(turns, answer, lang=speech_language(sample.context))
        assert (diarized.status, diarized.counts["cp_cer"].num) == ("ok", 0)


def test_question_is_the_one_of_the_task(taught: list[TaughtSample]) -> None:
    questions = {sample.task: sample.messages[0]["content"][-1]["text"] for sample in taught}
    assert all(questions.values())
    assert "0 到 1000" in questions["live_localization"] or "0 to 1000" in questions["live_localization"]


def test_every_ability_is_in_a_group_and_sound_has_its_own(training: OmniTraining) -> None:
    assert set(training.groups) == {*TAUGHT_TASKS, "live_temporal_grounding with sound"}


@pytest.mark.parametrize("group", [*TAUGHT_TASKS, "live_temporal_grounding with sound"])
def test_labels_cover_the_answer_and_the_end_of_turn(training: OmniTraining, group: str) -> None:
    samples = training.groups[group][:2]
    batch = training_batch(samples, training.processor, training.settings)
    assert batch["labels"].shape == batch["input_ids"].shape
    for row, sample in enumerate(samples):
        learnt = batch["labels"][row]
        text = training.processor.tokenizer.decode(learnt[learnt != IGNORED])
        assert text == sample.answer + "<|im_end|>"
        last = int((learnt != IGNORED).nonzero().max())
        assert batch["attention_mask"][row].sum() == last + 1
    assert ("input_features" in batch) == (group in ("live_asr", "live_diarization") or "sound" in group)
    assert ("pixel_values_videos" in batch) == ("grounding" in group)


def test_videos_with_sound_and_without_do_not_mix(training: OmniTraining) -> None:
    mixed = [training.groups["live_temporal_grounding"][0], training.groups["live_temporal_grounding with sound"][0]]
    with pytest.raises(UserError, match="with sound and without are in one batch"):
        training_batch(mixed, training.processor, training.settings)


def test_grown_model_reads_as_stage_one_does(training: OmniTraining) -> None:
    from transformers import Qwen3VLForConditionalGeneration

    stage_one = Qwen3VLForConditionalGeneration.from_pretrained(checkpoint_path("bf16"), dtype=torch.float32).eval()
    fresh = OmniTraining(
        training.groups["live_ocr"], checkpoint_path("bf16"), SMALL_AUDIO, Schedule(1e-3), seed=1
    ).model.eval()
    batch = training_batch(training.groups["live_ocr"][:1], training.processor, training.settings)
    with torch.no_grad():
        ours, theirs = (model(**batch) for model in (fresh, stage_one))
    torch.testing.assert_close(ours.logits, theirs.logits, atol=1e-4, rtol=0)
    assert ours.loss < 0.5  # what stage one was trained for


def test_steps_learn_save_and_go_on(training: OmniTraining, tmp_path: Path) -> None:
    from tliveomni_eval.model_adapters.nano.training_state import load_masters
    from transformers import AutoModelForImageTextToText, AutoProcessor

    register()
    training.groups = {name: group[:1] for name, group in training.groups.items() if name == "live_asr"}
    losses = [training.step(0.0, 1)[1] for _ in range(6)]
    assert all(map(math.isfinite, losses))
    assert losses[-1] < 0.8 * losses[0]
    checkpoint = training.save(tmp_path)
    assert json.loads((checkpoint / "config.json").read_text())["model_type"] == "tliveomni"
    assert type(AutoProcessor.from_pretrained(checkpoint)).__name__ == "TLiveOmniProcessor"
    loaded = AutoModelForImageTextToText.from_pretrained(checkpoint, dtype=torch.float32)
    masters = load_masters(tmp_path)
    for name, value in loaded.named_parameters():
        assert torch.equal(value, masters[name].to(torch.bfloat16).float()), name
    resumed = OmniTraining(
        training.groups["live_asr"], checkpoint_path("bf16"), SMALL_AUDIO, Schedule(1e-3), resume=tmp_path
    )
    assert all(torch.equal(value, masters[name]) for name, value in resumed.model.named_parameters())


def test_folder_without_taught_samples_is_an_error(tmp_path: Path) -> None:
    line = {"id": "a", "task": "live_caption", "reference": "x"}
    (tmp_path / "manifest.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(UserError, match="no sample of a task that is taught"):
        read_taught_samples([tmp_path])
    with pytest.raises(UserError, match="sample a: "):
        taught_sample(Sample.model_validate(line), tmp_path)
