"""Frames and tokens of an audio in vLLM are those of the transformers processor, and padding would change them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tliveomni_eval.model_adapters.tliveomni.audio_lengths import (
    HOP_SAMPLES,
    MIN_SAMPLES,
    AudioTooShortError,
    tokens_of_samples,
)
from tliveomni_eval.model_adapters.tliveomni_vllm.audio_features import extract_audio_features
from transformers import WhisperFeatureExtractor
from transformers.models.qwen3_omni_moe.processing_qwen3_omni_moe import _get_feat_extract_output_lengths

EXTRACTOR = WhisperFeatureExtractor(feature_size=128, sampling_rate=16_000)
CHUNK = 16_000
"""Samples that the encoder convolves by themselves."""


def sound(samples: int) -> np.ndarray:
    return np.random.default_rng(samples).standard_normal(samples).astype(np.float32)


def test_every_length_from_a_tenth_of_a_second_to_thirty_seconds() -> None:
    lengths = range(1_600, 480_001)
    frames = torch.arange(lengths.start, lengths.stop) // HOP_SAMPLES
    expected = _get_feat_extract_output_lengths(frames).tolist()
    assert [tokens_of_samples(samples) for samples in lengths] == expected
    assert len({samples % CHUNK for samples in lengths}) == CHUNK


def lengths_of_all_residues() -> list[int]:
    """Every residue of the hop, every residue of the chunk in hops, and long ones."""
    hops = [1_600 + residue for residue in range(HOP_SAMPLES)]
    chunks = [1_600 + 160 * (residue + 10) + 7 * residue % 160 for residue in range(100)]
    return [*hops, *chunks, 160_001, 320_159, 479_999, 480_000, 480_001]


def test_frames_are_those_that_the_feature_extractor_makes_of_one_audio_alone() -> None:
    lengths = lengths_of_all_residues()
    features, frames = extract_audio_features(EXTRACTOR, [sound(samples) for samples in lengths], unpadded=True)
    for samples, part in zip(lengths, features.split(frames.tolist(), dim=1), strict=True):
        alone = EXTRACTOR(sound(samples), sampling_rate=16_000, padding=False, truncation=False, return_tensors="pt")
        assert torch.equal(part, alone["input_features"][0])


def test_padding_to_the_hop_makes_other_frames_and_tokens() -> None:
    lengths = [samples for samples in lengths_of_all_residues() if samples < 20_000]
    audios = [sound(samples) for samples in lengths]
    _, unpadded = extract_audio_features(EXTRACTOR, audios, unpadded=True)
    _, padded = extract_audio_features(EXTRACTOR, audios, unpadded=False)
    assert padded.tolist() == [-(-samples // HOP_SAMPLES) for samples in lengths]
    more = _get_feat_extract_output_lengths(padded) - _get_feat_extract_output_lengths(unpadded)
    assert set(more.tolist()) == {0, 1}


def test_share_of_lengths_whose_tokens_padding_changes() -> None:
    frames = torch.arange(400, 160_001)
    tokens = [_get_feat_extract_output_lengths(count) for count in (frames // 160, -(-frames // 160))]
    assert float((tokens[0] != tokens[1]).float().mean()) == pytest.approx(0.129, abs=0.001)


@pytest.mark.parametrize("samples", [0, 1, MIN_SAMPLES - 1])
def test_too_short_an_audio_is_an_error(samples: int) -> None:
    with pytest.raises(AudioTooShortError, match=f"an audio of {samples} samples"):
        extract_audio_features(EXTRACTOR, [sound(samples)], unpadded=True)


def test_stereo_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"mono.*\(2, 8000\)"):
        extract_audio_features(EXTRACTOR, [np.zeros((2, 8_000), np.float32)], unpadded=True)
