"""Embedded checkpoints: found by variant, checked against their record, and able to read."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from tliveomni_eval.model_adapters.nano import embedded_checkpoints as checkpoints
from tliveomni_eval.model_adapters.nano.architecture import NanoDimensions
from tliveomni_eval.model_adapters.nano.build_tokenizer import run_tokenizer
from tliveomni_eval.model_adapters.nano.export import export_checkpoint, load_training_state, untrained_model
from tliveomni_eval.model_adapters.nano.held_out import load_embedded_examples, read_examples, summary_lines
from tliveomni_eval.model_adapters.nano.prompt_encoding import PromptEncoder
from tliveomni_eval.model_adapters.nano.training_state import TrainingState
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA
from transformers import AutoProcessor, Qwen3VLForConditionalGeneration

MEGABYTE = 1_000_000


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "w8a8"
    path.mkdir()
    (path / "config.json").write_text("{}")
    (path / "model.safetensors").write_bytes(b"weights")
    checkpoints.record_checksums("w8a8", tmp_path)
    return tmp_path


def test_the_published_checkpoint_is_what_was_recorded():
    checkpoints.verify_checksums("bf16")
    assert (checkpoints.checkpoint_path("bf16") / "model.safetensors").stat().st_size <= 24 * MEGABYTE


def test_an_unknown_variant_names_the_nearest():
    with pytest.raises(checkpoints.CheckpointError, match=r"'w8a9'.*'w8a8'"):
        checkpoints.checkpoint_path("w8a9")


def test_an_absent_variant_says_which_file_is_missing(tmp_path):
    with pytest.raises(checkpoints.CheckpointError, match=r"config\.json is missing"):
        checkpoints.checkpoint_path("fp8", tmp_path)


def test_recording_keeps_other_variants_and_their_order(folder):
    other = folder / "bf16"
    other.mkdir()
    for name in ("config.json", "model.safetensors"):
        (other / name).write_bytes(b"x")
    checkpoints.record_checksums("bf16", folder)
    assert list(checkpoints.recorded_digests(folder)) == ["bf16", "w8a8"]
    assert checkpoints.available_variants(folder) == ("bf16", "w8a8")
    checkpoints.verify_checksums("w8a8", folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: (path / "model.safetensors").write_bytes(b"other"), r"model\.safetensors differs"),
        (lambda path: (path / "extra.json").write_text("{}"), r"extra\.json is not part"),
    ],
)
def test_a_changed_checkpoint_is_noticed(folder, change, message):
    change(folder / "w8a8")
    with pytest.raises(checkpoints.CheckpointError, match=message):
        checkpoints.verify_checksums("w8a8", folder)


def test_a_missing_file_is_noticed(folder):
    (folder / "w8a8" / "tokenizer.json").write_text("{}")
    checkpoints.record_checksums("w8a8", folder)
    (folder / "w8a8" / "tokenizer.json").unlink()
    with pytest.raises(checkpoints.CheckpointError, match=r"tokenizer\.json is missing"):
        checkpoints.verify_checksums("w8a8", folder)


def test_a_broken_record_names_the_line(folder):
    (folder / "checkpoints.json").write_text('{\n"w8a8": ')
    with pytest.raises(checkpoints.CheckpointError, match="line 2"):
        checkpoints.verify_checksums("w8a8", folder)


def test_an_unrecorded_variant_is_an_error(folder):
    (folder / "checkpoints.json").unlink()
    with pytest.raises(checkpoints.CheckpointError, match="not recorded"):
        checkpoints.verify_checksums("w8a8", folder)


def test_the_command_line_reports_and_fails(capsys):
    assert checkpoints.main(["verify", "bf16"]) == 0
    assert checkpoints.main(["verify", "w8a9"]) == 1
    assert "w8a8" in capsys.readouterr().err


def test_trained_averages_survive_saving_and_export(tmp_path):
    tokenizer = run_tokenizer(checkpoints.checkpoint_path("bf16"))
    small = NanoDimensions(hidden_size=64, num_layers=1, intermediate_size=64, vision_hidden_size=48, vision_depth=1,
                           vision_num_heads=3, vision_intermediate_size=48, deepstack_visual_indexes=(0,))  # fmt: skip
    model = untrained_model(small, tokenizer)
    initial = {name: parameter.detach() + 0.5 for name, parameter in model.named_parameters()}
    state = TrainingState({**initial, "auxiliary.head.weight": torch.zeros(2, 2)}, torch.device("cpu"), 0.9, 0.0)
    state.save(tmp_path / "state")
    load_training_state(model, tmp_path / "state")
    export_checkpoint(model, tokenizer, tmp_path / "checkpoint")
    loaded = Qwen3VLForConditionalGeneration.from_pretrained(tmp_path / "checkpoint")
    for name, parameter in loaded.named_parameters():
        torch.testing.assert_close(parameter.float(), initial[name].to(torch.bfloat16).float())
    config = json.loads((tmp_path / "checkpoint" / "config.json").read_text())
    assert config["architectures"] == ["Qwen3VLForConditionalGeneration"]


def test_a_training_state_of_another_model_is_refused(tmp_path):
    tokenizer = run_tokenizer(checkpoints.checkpoint_path("bf16"))
    with pytest.raises(FileNotFoundError, match="weights-"):
        load_training_state(untrained_model(NanoDimensions(), tokenizer), tmp_path)


def test_images_of_the_trained_sizes_are_not_resized():
    processor = AutoProcessor.from_pretrained(checkpoints.checkpoint_path("bf16"))
    assert type(processor).__name__ == "Qwen3VLProcessor"
    for width, height in [(320, 192), (384, 224), (448, 256), (640, 384)]:
        pixels = np.random.default_rng(width).integers(0, 256, (height, width, 3), dtype=np.uint8)
        text = "<|vision_start|><|image_pad|><|vision_end|>"
        inputs = processor(text=[text], images=[Image.fromarray(pixels)], return_tensors="pt")
        assert inputs["image_grid_thw"].tolist() == [[1, height // 16, width // 16]]


def test_the_published_checkpoint_reads_and_transformers_agrees_with_the_training_evaluation():
    folder = checkpoints.checkpoint_path("bf16")
    examples = load_embedded_examples(Path(EMBEDDED_DATA) / "live_ocr", at_most=3)
    model = Qwen3VLForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    weights = {name: value.float() for name, value in load_file(folder / "model.safetensors").items()}
    encoder = PromptEncoder(run_tokenizer(folder))
    readings = read_examples(weights, model.config, encoder, examples, torch.device("cpu"))
    assert sum(reading.similarity for reading in readings) / len(readings) > 0.8
    assert summary_lines(readings)[0].startswith("all")

    processor = AutoProcessor.from_pretrained(folder)
    for reading in readings[:2]:
        message = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": reading.example.prompt}]}
        text = processor.apply_chat_template([message], add_generation_prompt=True, tokenize=False)
        inputs = processor(text=[text], images=[Image.fromarray(reading.example.pixels)], return_tensors="pt")
        with torch.no_grad():
            generated = model.generate(**inputs, max_new_tokens=40, do_sample=False)
        answer = generated[0, inputs["input_ids"].shape[1] :]
        assert processor.tokenizer.decode(answer, skip_special_tokens=True) == reading.hypothesis
