"""From samples to log-mel frames, each audio by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tliveomni_eval.model_adapters.tliveomni.audio_lengths import HOP_SAMPLES, frame_count
from torch import Tensor


def extract_audio_features(
    feature_extractor: Any, audios: Sequence[NDArray[Any]], unpadded: bool
) -> tuple[Tensor, Tensor]:
    """Log-mel frames of audios, as `TLiveOmniProcessor` computes them.

    Args:
        feature_extractor: Whisper's, as the checkpoint configures it.
        audios: Mono samples at 16 kHz.
        unpadded: Whether each audio is taken as long as it is; else zeros fill it up to a multiple of the hop first, as
            vLLM does for Qwen3-Omni, which gives a frame more wherever the length is none.

    Returns:
        The frames of all audios one after the other, (mel bins, frames of all), and how many each has, (audios).

    Raises:
        ValueError: An audio is too short for a frame, or not mono.
    """
    extracted, lengths = [], []
    for audio in audios:
        samples = np.asarray(audio, dtype=np.float32)
        if samples.ndim != 1:
            raise ValueError(f"an audio must be mono, one number a sample; got the shape {samples.shape}")
        frame_count(len(samples))  # Says so where the audio is too short.
        if not unpadded:
            samples = np.pad(samples, (0, -len(samples) % HOP_SAMPLES))
        frames = frame_count(len(samples))
        features = feature_extractor(
            samples,
            sampling_rate=feature_extractor.sampling_rate,
            padding=False,
            truncation=False,
            return_attention_mask=False,
            return_tensors="pt",
        )["input_features"][0]
        extracted.append(features[:, :frames])
        lengths.append(frames)
    return torch.cat(extracted, dim=1), torch.tensor(lengths, dtype=torch.long)
