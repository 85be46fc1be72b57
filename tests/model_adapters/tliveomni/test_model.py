import pytest
import torch
from media_prompts import AUDIO, IMAGE, KINDS, chat, image, inputs_of, sound

TOLERANCE = 1e-4
"""Of logits of spread 2.5 in float32, computed in another order."""


def _logits(model, inputs):
    with torch.no_grad():
        return model(**inputs).logits


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_prompt_is_answered(processor, tiny_model, kind):
    inputs = inputs_of(processor, kind)
    logits = _logits(tiny_model, inputs)
    assert logits.shape == (*inputs["input_ids"].shape, tiny_model.config.text_config.vocab_size)
    assert torch.isfinite(logits).all()
    assert 1 < logits.std() < 5


def test_saved_model_gives_equal_logits(processor, tiny_model, tmp_path):
    from transformers import AutoModelForImageTextToText

    tiny_model.save_pretrained(tmp_path)
    again = AutoModelForImageTextToText.from_pretrained(tmp_path).eval()
    assert type(again) is type(tiny_model)
    assert again.config.to_diff_dict() == tiny_model.config.to_diff_dict()
    inputs = inputs_of(processor, "everything")
    assert torch.equal(_logits(again, inputs), _logits(tiny_model, inputs))


_PARTS = {
    "audio DeepStack": "model.audio_tower.deepstack_merger_list",
    "first level of the audio DeepStack": "model.audio_tower.deepstack_merger_list.0",
    "last level of the audio DeepStack": "model.audio_tower.deepstack_merger_list.2",
    "aligner": "model.audio_tower.proj2",
    "vision DeepStack": "model.visual.deepstack_merger_list",
    "vision merger": "model.visual.merger",
}


@pytest.mark.parametrize("part", _PARTS)
def test_model_without_a_part_says_something_else(processor, tiny_model, part):
    inputs = inputs_of(processor, "everything")
    before = _logits(tiny_model, inputs)[0, -1].log_softmax(-1)
    module = tiny_model.get_submodule(_PARTS[part])
    kept = {name: value.clone() for name, value in module.state_dict().items()}
    try:
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.zero_()
        after = _logits(tiny_model, inputs)[0, -1].log_softmax(-1)
    finally:
        module.load_state_dict(kept)
    assert (after - before).abs().max() > 0.3
    assert torch.equal(_logits(tiny_model, inputs)[0, -1].log_softmax(-1), before)


def test_audio_level_is_added_after_its_language_layer_at_the_audio_tokens_alone(processor, tiny_model):
    inputs = inputs_of(processor, "everything")
    model = tiny_model.model
    seen = {}
    layer, following = model.language_model.layers[2], model.language_model.layers[3]
    hooks = [
        layer.register_forward_hook(lambda module, args, output: seen.update(left=output)),
        following.register_forward_pre_hook(lambda module, args: seen.update(entered=args[0])),
    ]
    try:
        _logits(tiny_model, inputs)
    finally:
        for hook in hooks:
            hook.remove()
    with torch.no_grad():
        audio = model.get_audio_features(inputs["input_features"], inputs["feature_attention_mask"])
    heard = inputs["input_ids"][0] == processor.audio_token_id
    left, entered = seen["left"][0], seen["entered"][0]
    # Vision has two levels and audio three: of the third, images and frames get nothing.
    assert torch.equal(entered[~heard], left[~heard])
    assert torch.equal(entered[heard], left[heard] + audio.levels[2])


def test_audio_in_a_batch_sounds_as_it_does_alone(processor, tiny_model):
    short, long = sound(5_000), sound(40_000, 5)
    both = processor(text=[AUDIO, AUDIO], audio=[short, long], return_tensors="pt", padding=True)
    alone = processor(text=AUDIO, audio=[short], return_tensors="pt")
    with torch.no_grad():
        batch = tiny_model.model.get_audio_features(both["input_features"], both["feature_attention_mask"])
        single = tiny_model.model.get_audio_features(alone["input_features"], alone["feature_attention_mask"])
    count = len(single.embeddings)
    assert torch.equal(batch.embeddings[:count], single.embeddings)
    assert all(torch.equal(b[:count], s) for b, s in zip(batch.levels, single.levels, strict=True))


def test_prompts_of_different_media_in_a_batch_are_answered_as_alone(processor, tiny_model):
    prompts = [chat(f"{AUDIO}什么"), chat(f"{IMAGE}什么东西{AUDIO}")]
    audio, images = [sound(8_000), sound(16_500, 6)], [image()]
    batch = _logits(tiny_model, processor(text=prompts, images=images, audio=audio, padding=True, return_tensors="pt"))
    first = _logits(tiny_model, processor(text=prompts[0], audio=audio[:1], return_tensors="pt"))
    second = _logits(tiny_model, processor(text=prompts[1], images=images, audio=audio[1:], return_tensors="pt"))
    for row, alone in zip(batch, (first[0], second[0]), strict=True):
        torch.testing.assert_close(row[: len(alone)], alone, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("kind", ["text", "audio", "video_with_audio", "everything"])
def test_generation_with_a_cache_says_what_the_whole_forward_says(processor, tiny_model, kind):
    new_tokens = 5
    inputs = inputs_of(processor, kind)
    length = inputs["input_ids"].shape[1]
    output = tiny_model.generate(
        **inputs,
        max_new_tokens=new_tokens,
        min_new_tokens=new_tokens,
        do_sample=False,
        output_logits=True,
        return_dict_in_generate=True,
    )
    whole = dict(inputs)
    whole["input_ids"] = output.sequences[:, :-1]
    added = new_tokens - 1
    whole["attention_mask"] = torch.ones_like(whole["input_ids"])
    whole["mm_token_type_ids"] = torch.nn.functional.pad(inputs["mm_token_type_ids"], (0, added))
    at_once = _logits(tiny_model, whole)[0, length - 1 :]
    torch.testing.assert_close(torch.cat(output.logits), at_once, atol=TOLERANCE, rtol=0)


def test_prompt_without_vision_after_one_with_vision_counts_positions_anew(processor, tiny_model):
    fresh = _logits(tiny_model, inputs_of(processor, "audio"))
    _logits(tiny_model, inputs_of(processor, "video_with_audio"))
    inputs = inputs_of(processor, "audio")
    with torch.no_grad():
        prefill = tiny_model(
            **{**inputs, "input_ids": inputs["input_ids"][:, :-1], "attention_mask": inputs["attention_mask"][:, :-1],
               "mm_token_type_ids": inputs["mm_token_type_ids"][:, :-1]},
            use_cache=True,
        )  # fmt: skip
        last = tiny_model(
            input_ids=inputs["input_ids"][:, -1:],
            attention_mask=inputs["attention_mask"],
            past_key_values=prefill.past_key_values,
        )
    torch.testing.assert_close(last.logits[0, -1], fresh[0, -1], atol=TOLERANCE, rtol=0)


def test_loss_reaches_every_part(processor, tiny_folder):
    from transformers import AutoModelForImageTextToText

    model = AutoModelForImageTextToText.from_pretrained(tiny_folder).train()
    inputs = inputs_of(processor, "everything")
    model(**inputs, labels=inputs["input_ids"]).loss.backward()
    without = [
        name for name, parameter in model.named_parameters() if parameter.grad is None or not parameter.grad.any()
    ]
    assert without == []


def test_placeholders_that_are_not_as_many_as_the_features_are_an_error(processor, tiny_model):
    inputs = inputs_of(processor, "audio")
    keep = torch.ones_like(inputs["input_ids"], dtype=torch.bool)
    keep[0, inputs["input_ids"][0].tolist().index(processor.audio_token_id)] = False
    with pytest.raises(ValueError, match=r"16 placeholders with token id \d+, but features of 17 tokens"):
        tiny_model(input_ids=inputs["input_ids"][keep][None], input_features=inputs["input_features"],
                   feature_attention_mask=inputs["feature_attention_mask"])  # fmt: skip


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("feature_attention_mask", "lengths of the audios are unknown"),
        ("input_ids", "either input_ids or inputs_embeds"),
    ],
)
def test_incomplete_inputs_are_an_error(processor, tiny_model, missing, message):
    inputs = dict(inputs_of(processor, "audio"))
    del inputs[missing]
    with pytest.raises(ValueError, match=message):
        tiny_model(**inputs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"audio_deepstack_layer_indexes": [0, 9]}, r"\[0, 9\] must rise and lie in 0 to 3"),
        ({"audio_deepstack_layer_indexes": [1, 0]}, "must rise"),
        ({"audio_config": {"output_dim": 64}}, "output_dim 64 must be text_config.hidden_size 128"),
        ({"audio_config": {"n_window": 100, "output_dim": 128}}, "n_window 100 must be 50"),
    ],
)
def test_configuration_that_cannot_be_is_an_error(tiny_model, change, message):
    values = tiny_model.config.to_dict()
    audio = {**values["audio_config"], **change.pop("audio_config", {})}
    with pytest.raises(ValueError, match=message):
        type(tiny_model.config)(**{**values, "audio_config": audio, **change})
