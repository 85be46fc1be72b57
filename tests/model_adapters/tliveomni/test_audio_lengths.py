import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from media_prompts import AUDIO, sound
from tliveomni_eval.model_adapters.tliveomni.audio_lengths import (
    MIN_SAMPLES,
    AudioTooShortError,
    frame_count,
    token_count,
    token_start_milliseconds,
    tokens_before,
    tokens_of_samples,
)


def test_tokens_of_every_length_up_to_a_minute_are_those_of_transformers():
    import torch
    from transformers.models.qwen3_omni_moe.modeling_qwen3_omni_moe import _get_feat_extract_output_lengths

    expected = _get_feat_extract_output_lengths(torch.arange(6001)).tolist()
    assert [token_count(frames) for frames in range(6001)] == expected


def test_frames_of_every_residue_are_those_of_transformers_alone(processor):
    # 0.1 s to 30 s; each residue of a hop of 160 samples, the lengths spread over all of the range.
    lengths = [201, 320, 480_000, 479_999, *(1600 + residue + 160 * (residue * residue % 97) for residue in range(160))]
    assert {length % 160 for length in lengths} == set(range(160))
    for length in lengths:
        features = processor.feature_extractor(
            sound(length), sampling_rate=16_000, padding=True, truncation=False, return_attention_mask=True
        )
        assert features["attention_mask"].sum() == features["input_features"].shape[-1] == frame_count(length), length


def test_prompt_has_as_many_audio_tokens_as_the_encoder_makes(processor, tiny_model):
    import torch

    # Every number of frames in a part of 100, and around the ends of longer ones.
    frame_numbers = [*range(1, 101, 3), 100, 101, 102, 199, 200, 201, 1301]
    for frames in frame_numbers:
        samples = max(MIN_SAMPLES, 160 * frames + frames % 160)
        inputs = processor(text=AUDIO, audio=[sound(samples)], return_tensors="pt")
        with torch.no_grad():
            features = tiny_model.model.get_audio_features(inputs["input_features"], inputs["feature_attention_mask"])
        placeholders = int((inputs["input_ids"] == processor.audio_token_id).sum())
        assert placeholders == len(features.embeddings) == tokens_of_samples(samples), samples


def test_audio_in_a_batch_has_the_features_it_has_alone(processor):
    # 1,281 samples are 8 frames; padded to a longer one, transformers would count 9.
    short, long = sound(1281), sound(50_000, 5)
    alone = processor(text=AUDIO, audio=[short], return_tensors="np")
    both = processor(text=[AUDIO, AUDIO], audio=[short, long], return_tensors="np", padding=True)
    assert both["feature_attention_mask"].sum(-1).tolist() == [8, 312]
    np.testing.assert_array_equal(both["input_features"][0, :, :8], alone["input_features"][0])
    assert not both["input_features"][0, :, 8:].any()


@pytest.mark.parametrize("samples", [0, 1, 160, 200])
def test_audio_too_short_for_a_frame_is_an_error_that_says_so(processor, samples):
    with pytest.raises(AudioTooShortError, match=f"audio of {samples} samples .* at least 201 samples"):
        processor(text=AUDIO, audio=[sound(samples)])


def test_shortest_audio_has_a_token(processor):
    inputs = processor(text=AUDIO, audio=[sound(MIN_SAMPLES)])
    assert inputs["input_ids"][0].count(processor.audio_token_id) == 1


def test_frames_cannot_be_negative():
    with pytest.raises(ValueError, match="-1 frames"):
        token_count(-1)


@settings(max_examples=60)
@given(st.integers(-10, 800_000))
def test_tokens_before_a_time_are_those_that_begin_before_it(milliseconds):
    before = tokens_before(milliseconds)
    assert token_start_milliseconds(before) >= milliseconds
    assert before == 0 or token_start_milliseconds(before - 1) < milliseconds
