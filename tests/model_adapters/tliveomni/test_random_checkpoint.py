import json

import numpy as np
import pytest
from tliveomni_eval.model_adapters.tliveomni.random_checkpoint import (
    random_config,
    random_weight,
    write_random_checkpoint,
)


def test_size_and_seed_decide_every_weight(tiny_folder, tmp_path):
    from safetensors.numpy import load_file

    again = load_file(write_random_checkpoint(tmp_path / "again") / "model.safetensors")
    other = load_file(write_random_checkpoint(tmp_path / "other", seed=1) / "model.safetensors")
    first = load_file(tiny_folder / "model.safetensors")
    assert set(first) == set(again) == set(other)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not any(np.array_equal(first[name], other[name]) for name in first)


def test_names_of_the_weights_are_those_that_are_documented(tiny_folder):
    from safetensors import safe_open
    from tliveomni_eval.model_adapters.tliveomni import modeling

    with safe_open(tiny_folder / "model.safetensors", "np") as file:
        names = set(file.keys())
    tower = "model.audio_tower."
    assert {f"{tower}deepstack_merger_list.{level}.proj{n}.weight" for level in range(3) for n in (1, 2)} <= names
    assert {
        f"{tower}proj1.weight",
        f"{tower}ln_post.bias",
        f"{tower}conv2d1.weight",
        f"{tower}conv_out.weight",
    } <= names
    assert {"model.visual.deepstack_merger_list.1.linear_fc1.weight", "model.language_model.norm.weight"} <= names
    assert "lm_head.weight" not in names
    assert "model.audio_tower.deepstack_merger_list.{level}.proj1" in modeling.__doc__


def test_dtype_is_the_one_asked_for(tmp_path):
    folder = write_random_checkpoint(tmp_path, dtype="bfloat16")
    assert json.loads((folder / "config.json").read_text())["dtype"] == "bfloat16"
    assert (folder / "model.safetensors").stat().st_size < 4 * 2**20


def test_large_size_has_the_widths_of_an_8b_model():
    import torch
    from tliveomni_eval.model_adapters.tliveomni.modeling import TLiveOmniForConditionalGeneration

    names = ("image_pad", "video_pad", "audio_pad", "vision_start", "vision_end", "audio_start", "audio_end", "im_end")
    token_ids = {f"<|{name}|>": index for index, name in enumerate(names)}
    config = random_config("8b", 151_936, token_ids, "bfloat16")
    with torch.device("meta"):
        model = TLiveOmniForConditionalGeneration(config)
    assert 9.0e9 < sum(parameter.numel() for parameter in model.parameters()) < 9.7e9


def test_weights_keep_the_spread_of_what_goes_through_them():
    assert abs(random_weight("a.weight", (400, 100), 0, is_norm=False).std() - 0.1) < 0.005
    assert abs(random_weight("a.norm.weight", (1000,), 0, is_norm=True).mean() - 1) < 0.02


def test_unknown_size_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="size 'huge' is not known; choose one of 8b, tiny"):
        write_random_checkpoint(tmp_path, size="huge")
