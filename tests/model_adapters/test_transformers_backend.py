"""`tliveomni_hf` with the embedded checkpoint: what it answers, refuses and keeps; and the layers of parity on it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lmms_eval.api.instance import Instance
from lmms_eval.models import get_model_manifest
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.parity_layers import parity_layers
from tliveomni_eval.model_adapters.checkpoint import locate_checkpoint
from tliveomni_eval.model_adapters.parity.layer_capture import LayerCapture, common_name, module_differences
from tliveomni_eval.model_adapters.parity.layer_comparison import layer_samples
from tliveomni_eval.model_adapters.parity.token_scores import SideRecord, TokenScores
from tliveomni_eval.model_adapters.tliveomni.random_checkpoint import write_random_checkpoint
from tliveomni_eval.model_adapters.transformers_backend.adapter import TLiveOmniHF, generation_settings, torch_device
from tliveomni_eval.model_adapters.transformers_backend.reference_model import load_reference, processor_media
from tliveomni_eval.model_adapters.transformers_backend.stop_texts import StopTexts
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt
from tliveomni_eval.model_adapters.vllm_backend.decoding import Decoding
from tliveomni_eval.model_adapters.vllm_backend.response_journal import ResponseJournal
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA

GREEDY = Decoding(24, 0.0, (), {})
SAMPLES = 3


def ocr_lines() -> list[dict[str, Any]]:
    with (EMBEDDED_DATA / "live_ocr" / "manifest.jsonl").open(encoding="utf-8") as file:
        return [json.loads(next(file)) for _ in range(SAMPLES)]


def messages(line: dict[str, Any], task: str = "live_ocr") -> list[dict[str, Any]]:
    media = [{"type": one["type"], "url": str(EMBEDDED_DATA / task / one["path"])} for one in line["media"]]
    text = {"type": "text", "text": line.get("prompt") or "?"}
    return [{"role": "user", "content": [*media, text]}]


def requests() -> list[Instance]:
    arguments: dict[str, Any] = {"max_new_tokens": 24, "temperature": 0, "until": []}
    return [
        Instance(
            "generate_until",
            ("", messages, arguments, index, "live_ocr", "test"),
            index,
            metadata={"task": "live_ocr", "doc_id": index, "repeats": 1},
        )
        for index in range(SAMPLES)
    ]


def answering(model: TLiveOmniHF) -> TLiveOmniHF:
    model.task_dict["live_ocr"] = {"test": ocr_lines()}
    return model


@pytest.fixture(scope="module")
def nano() -> Iterator[TLiveOmniHF]:
    threads = torch.get_num_threads()
    yield answering(TLiveOmniHF(dtype="float32"))
    torch.set_num_threads(threads)


def prompt_of(model: TLiveOmniHF, index: int = 0) -> ChatPrompt:
    return model.prompt(requests()[index])


def test_lmms_eval_resolves_it() -> None:
    assert get_model_manifest("tliveomni_hf").chat_class_path.endswith("adapter.TLiveOmniHF")


def test_it_reads_as_the_reference_says_and_counts_tokens(nano: TLiveOmniHF) -> None:
    results = nano.generate_until(requests())
    assert [result.text for result in results] == [line["reference"] for line in ocr_lines()]
    for result in results:
        assert result.token_counts.input_tokens > 60
        assert 0 < result.token_counts.output_tokens < 24


def test_teacher_forcing_gives_each_token_that_was_chosen_the_highest_probability(nano: TLiveOmniHF) -> None:
    answer = nano.generate(prompt_of(nano), GREEDY)
    rows = nano.reference.log_probabilities(answer.inputs, answer.tokens)
    assert rows.shape[0] == len(answer.tokens)
    assert rows.argmax(-1).tolist() == list(answer.tokens)
    assert torch.allclose(rows.exp().sum(-1), torch.ones(len(rows)), atol=1e-4)
    assert answer.finish_reason == "stop"


def test_until_ends_the_answer_and_is_no_part_of_it(nano: TLiveOmniHF) -> None:
    whole = nano.generate(prompt_of(nano), GREEDY)
    stop = whole.text[2]
    cut = nano.generate(prompt_of(nano), dataclasses.replace(GREEDY, stop=(stop,)))
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert len(cut.tokens) < len(whole.tokens)
    assert cut.finish_reason == "stop"
    short = nano.generate(prompt_of(nano), dataclasses.replace(GREEDY, max_tokens=2))
    assert (len(short.tokens), short.finish_reason) == (2, "length")


def test_a_prompt_longer_than_the_context_names_task_and_document(nano: TLiveOmniHF) -> None:
    settings_before = nano.settings
    nano.settings = dataclasses.replace(nano.settings, engine_args={**nano.settings.engine_args, "max_model_len": 50})
    try:
        with pytest.raises(UserError, match=r"task live_ocr, document 0: the prompt has \d+ tokens.*holds 50"):
            nano.generate_until(requests())
    finally:
        nano.settings = settings_before


def test_what_is_in_the_journal_needs_no_model(nano: TLiveOmniHF, tmp_path: Path) -> None:
    with ResponseJournal(tmp_path / "journal.sqlite") as journal:
        first = answering(TLiveOmniHF(dtype="float32", journal=journal, progress=lambda *_: None))
        answered = first.generate_until(requests())
        again = answering(TLiveOmniHF(dtype="float32", journal=journal, progress=lambda *_: None))
        assert [one.text for one in again.generate_until(requests())] == [one.text for one in answered]
        assert first.engine_started
        assert not again.engine_started
        other = answering(TLiveOmniHF(dtype="bfloat16", journal=journal, progress=lambda *_: None))
        other.generate_until(requests())
        assert other.engine_started, "another type of numbers may give another answer"


@pytest.mark.parametrize("variant", ["w8a8", "w4a16"])
def test_quantized_variants_load_and_are_not_the_16_bit_one(nano: TLiveOmniHF, variant: str) -> None:
    quantized = load_reference(locate_checkpoint("", variant), "cpu", "float32")
    inputs, tokens = nano.reference.inputs(prompt_of(nano)), nano.generate(prompt_of(nano), GREEDY).tokens
    exact = nano.reference.log_probabilities(inputs, tokens)
    rounded = quantized.log_probabilities(quantized.inputs(prompt_of(nano)), tokens)
    assert (exact - rounded).abs().max() > 0
    assert rounded.argmax(-1).tolist() == list(tokens)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"tensor_parallel_size": "2"}, "tensor_parallel_size=2 concerns vLLM"),
        ({"parity": "no_interleave"}, "parity='no_interleave' concerns vLLM"),
        ({"batch_size": "4"}, "one sample at a time"),
        ({"dtyp": "float32"}, "Did you mean 'dtype'"),
        ({"model": "./gone"}, "there is no such checkpoint folder"),
        ({"device": "teapot"}, "--device 'teapot'"),
        ({"dtype": "int3"}, "dtype='int3'"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, str], said: str) -> None:
    with pytest.raises(UserError) as raised:
        TLiveOmniHF(**arguments)
    assert said in str(raised.value)


def test_without_a_gpu_lmms_evals_own_default_of_one_means_the_cpu() -> None:
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert torch_device("cuda") == torch_device(None) == torch_device("auto") == expected
    assert torch_device("cpu") == "cpu"


def test_decoding_that_transformers_lacks_is_refused() -> None:
    assert generation_settings(GREEDY) == {"do_sample": False}
    warm = Decoding(8, 0.7, (), {"top_p": 0.9, "seed": 3})
    assert generation_settings(warm) == {"do_sample": True, "temperature": 0.7, "top_p": 0.9}
    with pytest.raises(UserError, match=r"presence_penalty=0\.5"):
        generation_settings(Decoding(8, 0.7, (), {"presence_penalty": 0.5}))


@settings(max_examples=50)
@given(st.text("ab|", max_size=30), st.lists(st.text("ab|", min_size=1, max_size=3), max_size=3))
def test_a_stop_text_is_found_as_soon_as_it_is_whole(answer: str, stops: list[str]) -> None:
    def decode(tokens: Any) -> str:
        return "".join(map(chr, tokens))

    stop = StopTexts(decode, stops, prompt_length=1)
    ends = [
        length
        for length in range(1, len(answer) + 1)
        if bool(stop(torch.tensor([[0, *map(ord, answer[:length])]]), None)[0])
    ]
    first = next((length for length in range(1, len(answer) + 1) if any(s in answer[:length] for s in stops)), None)
    assert (ends[0] if ends else None) == first
    text, stopped = stop.cut(answer)
    assert stopped == any(s in answer for s in stops)
    assert not any(s in text for s in stops)
    assert answer.startswith(text)


def test_media_go_to_the_processor_under_its_own_names() -> None:
    frames, sound = np.zeros((4, 32, 32, 3), np.uint8), np.zeros(16_000, np.float32)
    metadata = {"fps": 2.0, "frames_indices": [0, 1, 2, 3], "do_sample_frames": False}
    media = {"video": [(frames, metadata)], "audio": [(sound, 16_000)]}
    given_ = processor_media(ChatPrompt("", media, 0, "", processor_kwargs={"use_audio_in_video": True}))
    assert given_["use_audio_in_video"] is True
    assert given_["do_sample_frames"] is False
    assert given_["video_metadata"] == [{"fps": 2.0, "frames_indices": [0, 1, 2, 3]}]
    assert given_["audio"][0] is sound
    assert given_["videos"][0] is frames
    assert "do_sample_frames" in metadata, "what vLLM is given stays as it is"


def test_a_video_with_its_sound_is_answered_by_a_model_that_hears(tmp_path: Path) -> None:
    write_random_checkpoint(tmp_path / "tiny")
    model = TLiveOmniHF(model=str(tmp_path / "tiny"), dtype="float32", max_frames="4", max_pixels="16384")
    with (EMBEDDED_DATA / "live_temporal_grounding" / "manifest.jsonl").open(encoding="utf-8") as file:
        lines = [line for line in map(json.loads, file) if line["slices"].get("audio", "yes") != "no"]
    model.task_dict["live_temporal_grounding"] = {"test": lines}
    for index in range(len(lines)):
        arguments = ("", lambda line: messages(line, "live_temporal_grounding"), {}, index)
        task = {"task": "live_temporal_grounding", "doc_id": index, "repeats": 1}
        prompt = model.prompt(
            Instance("generate_until", (*arguments, "live_temporal_grounding", "test"), index, metadata=task)
        )
        if prompt.processor_kwargs.get("use_audio_in_video"):
            break
    inputs = model.reference.inputs(prompt)
    ids = inputs["input_ids"][0]
    audio = (ids == model.reference.model.config.audio_token_id).nonzero().flatten()
    video = (ids == model.reference.model.config.video_token_id).nonzero().flatten()
    assert len(audio) > 0
    assert audio.min() < video.max(), "the sound stands between the frames"
    assert len(model.generate(prompt, dataclasses.replace(GREEDY, max_tokens=2)).tokens) > 0


def test_a_planted_fault_is_found_in_the_layer_that_has_it(nano: TLiveOmniHF) -> None:
    reference, inputs = nano.reference, nano.reference.inputs(prompt_of(nano))
    with LayerCapture(reference.model) as sound:
        reference.log_probabilities(inputs, [5, 6])
    faulty = reference.model.model.language_model.layers[3].mlp.down_proj.weight
    kept = faulty.detach().clone()
    with torch.no_grad():
        faulty.mul_(1.01)
    try:
        with LayerCapture(reference.model) as broken:
            reference.log_probabilities(inputs, [5, 6])
    finally:
        with torch.no_grad():
            faulty.copy_(kept)
    rows = parity_layers(list(module_differences(sound.outputs, broken.outputs, "a")), 1e-5, deepstack_levels=1)
    first = {row.component: row.first.name if row.first else None for row in rows}
    assert first["MLP"] == "language_model.layers.3.mlp"
    assert first["attention"] == "language_model.layers.4.self_attn"
    assert first["norm"] == "language_model.layers.4.input_layernorm"
    assert first["vision tower"] is first["embeddings"] is None
    assert "forward" not in vars(reference.model.model.language_model.norm), "nothing stays attached"


def test_modules_of_both_sides_have_one_name() -> None:
    assert common_name("model.visual.blocks.0") == common_name("visual.blocks.0")
    assert common_name("language_model.model.layers.0.mlp") == common_name("model.language_model.layers.0.mlp")


def test_layers_are_looked_at_on_the_shortest_sample_of_each_modality() -> None:
    def record(document: int, modality: str, length: int, compared: bool = True) -> SideRecord:
        scores = TokenScores(tokens=(document,), logprobs=(0.0,), top=(((document, 0.0),),)) if compared else None
        return SideRecord(
            task="t",
            document=document,
            modality=modality,
            prompt_tokens=length,
            scores=scores,
            reason="" if compared else "?",
        )

    records = [record(0, "image", 9), record(1, "image", 5), record(2, "video", 7), record(3, "audio", 1, False)]
    chosen = layer_samples(records, {"t": {1: "one"}})
    assert [(one.name, one.answer) for one in chosen] == [("t one", (1,)), ("t 2", (2,))]
