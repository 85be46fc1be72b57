"""Media of generated workloads: patterns that differ by seed, so that no cache answers for another request."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray
from PIL import Image

FRAME_RATE = 8
SAMPLING_RATE = 16_000


def write_image(path: Path, size: tuple[int, int], seed: int) -> Path:
    """Write a JPEG of coarse colours.

    Args:
        path: File to write.
        size: Width and height in pixels.
        seed: Of the colours.
    """
    Image.fromarray(_pattern(size, np.random.default_rng(seed))).save(path, quality=90)
    return path


def write_video(path: Path, size: tuple[int, int], seconds: float, seed: int) -> Path:
    """Write an MP4 whose pattern moves.

    Args:
        path: File to write.
        size: Width and height in pixels, even.
        seconds: Length.
        seed: Of the pattern.
    """
    import av

    pattern = _pattern(size, np.random.default_rng(seed))
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=FRAME_RATE)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for number in range(max(1, round(seconds * FRAME_RATE))):
            frame = av.VideoFrame.from_ndarray(np.roll(pattern, 8 * number, axis=1), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def write_audio(path: Path, seconds: float, seed: int) -> Path:
    """Write a WAV file of tones under noise.

    Args:
        path: File to write.
        seconds: Length.
        seed: Of tones and noise.
    """
    numbers = np.random.default_rng(seed)
    time = np.arange(round(seconds * SAMPLING_RATE)) / SAMPLING_RATE
    tones = sum(np.sin(2 * np.pi * pitch * time) for pitch in numbers.uniform(100, 2_000, size=4))
    samples = 0.1 * tones + 0.01 * numbers.standard_normal(len(time))
    soundfile.write(path, samples.astype(np.float32), SAMPLING_RATE, subtype="PCM_16")
    return path


def _pattern(size: tuple[int, int], numbers: np.random.Generator) -> NDArray[np.uint8]:
    width, height = size
    coarse = numbers.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))
