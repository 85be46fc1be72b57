"""The committed quantized checkpoints are what their recipes and records say."""

from __future__ import annotations

import json

import pytest
from safetensors import safe_open
from tliveomni_eval.evals.logs.checkpoint_fingerprint import fingerprint_checkpoint
from tliveomni_eval.model_adapters.nano.embedded_checkpoints import (
    CHECKPOINTS_FOLDER,
    VARIANTS,
    checkpoint_path,
    verify_checksums,
)
from tliveomni_eval.model_adapters.quantization.calibration import compose_samples
from tliveomni_eval.model_adapters.quantization.model_parts import part_of
from tliveomni_eval.model_adapters.quantization.quantization_record import read_quantization_record
from tliveomni_eval.model_adapters.quantization.recipe import load_recipe
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA

QUANTIZED = [variant for variant in VARIANTS if variant != "bf16"]
TOTAL_BYTES = 75e6


def tensors(variant):
    """Every tensor of a checkpoint by name."""
    found = {}
    for file in checkpoint_path(variant).glob("*.safetensors"):
        with safe_open(file, framework="pt") as weights:
            for name in weights.keys():  # noqa: SIM118
                found[name] = weights.get_tensor(name)
    return found


EMBEDDINGS = ("pos_embed.weight", "embed_tokens.weight")


def is_linear(name, tensor):
    return name.endswith(".weight") and tensor.ndim == 2 and not name.endswith(EMBEDDINGS)


@pytest.fixture(scope="module")
def source_tensors():
    return tensors("bf16")


@pytest.mark.parametrize("variant", QUANTIZED)
def test_files_match_their_recorded_checksums(variant):
    verify_checksums(variant)


@pytest.mark.parametrize("variant", QUANTIZED)
def test_it_was_made_by_the_recipe_of_its_name_from_the_embedded_16_bit_checkpoint(variant):
    record = read_quantization_record(checkpoint_path(variant))
    assert record.variant == variant
    assert record.recipe == load_recipe(variant)
    assert record.source.fingerprint == fingerprint_checkpoint(checkpoint_path("bf16")).fingerprint
    assert record.weight_bytes == (checkpoint_path(variant) / "model.safetensors").stat().st_size


@pytest.mark.parametrize("variant", QUANTIZED)
def test_the_quantization_config_is_the_recipe(variant, source_tensors):
    recipe = load_recipe(variant)
    config = json.loads((checkpoint_path(variant) / "config.json").read_text(encoding="utf-8"))["quantization_config"]
    assert (config["quant_method"], config["quantization_status"]) == ("compressed-tensors", "compressed")
    (group,) = config["config_groups"].values()
    assert group["targets"] == ["Linear"]
    weights, activations = group["weights"], group["input_activations"]
    assert (weights["num_bits"], weights["type"]) == (recipe.weights.num_bits, recipe.weights.type)
    assert weights["symmetric"] == recipe.weights.symmetric
    assert not weights["dynamic"]
    if recipe.weights.strategy == "group":
        assert weights["strategy"] == "group" and weights["group_size"] <= recipe.weights.group_size
    else:
        assert weights["strategy"] == "channel" and weights["group_size"] is None
    if recipe.activations is None:
        assert activations is None
    else:
        assert activations["num_bits"] == recipe.activations.num_bits
        assert activations["type"] == recipe.activations.type
        assert (activations["strategy"], activations["dynamic"]) == ("token", True)
    linears = {name.removesuffix(".weight") for name, tensor in source_tensors.items() if is_linear(name, tensor)}
    stays = {name for name in linears if part_of(name) not in recipe.parts}
    assert stays <= set(config["ignore"])
    assert not (linears - stays) & set(config["ignore"])


@pytest.mark.parametrize("variant", QUANTIZED)
def test_bits_on_disk_are_those_of_the_recipe(variant, source_tensors):
    recipe = load_recipe(variant)
    quantized = tensors(variant)
    for name, source in source_tensors.items():
        module = name.removesuffix(".weight")
        if is_linear(name, source) and part_of(module) in recipe.parts:
            stored = quantized[f"{module}.weight_packed" if recipe.weights.num_bits == 4 else name]
            assert stored.numel() * stored.element_size() * 8 == source.numel() * recipe.weights.num_bits, name
            assert f"{module}.weight_scale" in quantized
        else:
            assert quantized[name].dtype == source.dtype, name
            # SmoothQuant moves outliers into the norms before the quantized linears; nothing else may change.
            if recipe.smoothing_strength is None or "layernorm" not in name:
                assert quantized[name].equal(source), name


@pytest.mark.parametrize("variant", QUANTIZED)
def test_prompts_are_built_as_for_the_16_bit_checkpoint(variant):
    rewritten = {"config.json", "model.safetensors", "quantization.json"}
    source, folder = checkpoint_path("bf16"), checkpoint_path(variant)
    names = {file.name for file in source.iterdir()} - rewritten
    assert names == {file.name for file in folder.iterdir()} - rewritten
    assert all((folder / name).read_bytes() == (source / name).read_bytes() for name in names)


def test_all_variants_together_stay_small():
    assert sum(file.stat().st_size for file in CHECKPOINTS_FOLDER.rglob("*") if file.is_file()) < TOTAL_BYTES


@pytest.mark.parametrize("variant", QUANTIZED)
def test_calibrated_on_the_training_side_only(variant):
    record = read_quantization_record(checkpoint_path(variant))
    settings = record.recipe.calibration
    if settings is None:
        assert record.calibration is None
        return
    assert record.calibration.side == "train"
    assert (record.calibration.first_seed, record.calibration.samples) == (settings.first_seed, settings.samples)


def test_names_of_calibration_samples_occur_in_no_evaluation_sample():
    lines = (EMBEDDED_DATA / "live_ocr" / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    samples = [json.loads(line) for line in lines]
    evaluated = {sample["reference"] for sample in samples if sample["context"]["field"] == "name"}
    assert evaluated
    first = load_recipe("w8a8").calibration.first_seed
    calibrating = {sample.answer for sample in compose_samples(range(first, first + 24))}
    assert not calibrating & evaluated
