"""How long an audio is in samples, log-mel frames and tokens, and when each of its tokens begins. Pure; no torch.

Sources: transformers' `WhisperFeatureExtractor` (a frame a hop of 160 samples, a last part hop makes none) and
`_get_feat_extract_output_lengths` of Qwen3-Omni (three convolutions of stride 2 over each part of 100 frames).
"""

from __future__ import annotations

SAMPLING_RATE = 16_000
"""Samples a second that the encoder takes."""
HOP_SAMPLES = 160
"""Samples from one frame to the next: a frame is 10 ms."""
FRAMES_A_PART = 100
"""Frames that the encoder convolves by themselves: one second."""
TOKENS_A_PART = 13
"""Tokens of a whole part."""
TOKEN_MILLISECONDS = 80
"""From one token of a part to the next: eight frames."""
PART_MILLISECONDS = 1000
MIN_SAMPLES = 201
"""The shortest audio: the Fourier transform mirrors 200 samples at either end, and so needs more than those."""


class AudioTooShortError(ValueError):
    """An audio has too few samples for one frame."""


def frame_count(samples: int) -> int:
    """Log-mel frames of an audio that is not padded.

    Args:
        samples: At 16 kHz.

    Raises:
        AudioTooShortError: There are fewer than `MIN_SAMPLES`.
    """
    if samples < MIN_SAMPLES:
        raise AudioTooShortError(
            f"an audio of {samples} samples ({samples / SAMPLING_RATE * 1000:.1f} ms at {SAMPLING_RATE} Hz) is too "
            f"short; it needs at least {MIN_SAMPLES} samples: leave it out, or give a longer one"
        )
    return samples // HOP_SAMPLES


def token_count(frames: int) -> int:
    """Audio tokens of so many frames.

    Args:
        frames: At least 0.

    Raises:
        ValueError: `frames` is negative.

    Example:
        >>> token_count(1), token_count(100), token_count(101), token_count(3000)
        (1, 13, 14, 390)
    """
    if frames < 0:
        raise ValueError(f"an audio cannot have {frames} frames")
    parts, rest = divmod(frames, FRAMES_A_PART)
    for _ in range(3):
        rest = (rest + 1) // 2
    return parts * TOKENS_A_PART + rest


def tokens_of_samples(samples: int) -> int:
    """Audio tokens of so many samples at 16 kHz.

    Args:
        samples: At 16 kHz.

    Raises:
        AudioTooShortError: There are fewer than `MIN_SAMPLES`.
    """
    return token_count(frame_count(samples))


def token_start_milliseconds(index: int) -> int:
    """When a token begins, in whole milliseconds from the beginning of its audio.

    Args:
        index: Of the token in its audio, from 0.

    Example:
        >>> token_start_milliseconds(12), token_start_milliseconds(13)
        (960, 1000)
    """
    part, within = divmod(index, TOKENS_A_PART)
    return part * PART_MILLISECONDS + within * TOKEN_MILLISECONDS


def tokens_before(milliseconds: int) -> int:
    """How many tokens of an endless audio begin before a time.

    Args:
        milliseconds: From the beginning of the audio; 0 where it is before that.

    Example:
        >>> tokens_before(0), tokens_before(1), tokens_before(80), tokens_before(81), tokens_before(1000)
        (0, 1, 1, 2, 13)
    """
    if milliseconds <= 0:
        return 0
    part, within = divmod(milliseconds, PART_MILLISECONDS)
    return part * TOKENS_A_PART + min(TOKENS_A_PART, -(-within // TOKEN_MILLISECONDS))
