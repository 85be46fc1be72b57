"""The outline of a recording, for the reader who looks for the place before listening."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PEAKS = 600
_BLOCKS_READ_AT_ONCE = 64
_LONGEST_S = 3 * 3600


@dataclass(frozen=True, slots=True)
class Waveform:
    """Outline of a recording.

    Attributes:
        peaks: Largest absolute amplitude of each of at most `PEAKS` equal parts, 0..100 of the loudest.
        duration_s: Length in seconds.
    """

    peaks: list[int]
    duration_s: float


def waveform(source: Path | bytes) -> Waveform | None:
    """Reads a recording block by block.

    Args:
        source: A file that libsndfile reads (WAV, FLAC, Ogg Vorbis and Opus, MP3), or its bytes.

    Returns:
        The outline, or None where the recording cannot be read: the player is then shown without one.
    """
    import soundfile

    try:
        with soundfile.SoundFile(io.BytesIO(source) if isinstance(source, bytes) else source) as file:
            frames, rate = len(file), file.samplerate
            if not 0 < frames <= _LONGEST_S * rate:
                return None
            part = max(1, -(-frames // PEAKS))
            peaks: list[float] = []
            for block in file.blocks(blocksize=part * _BLOCKS_READ_AT_ONCE, dtype="float32", always_2d=True):
                loudness = np.abs(np.nan_to_num(block)).max(axis=1)
                edges = np.arange(0, len(loudness), part)
                peaks += np.maximum.reduceat(loudness, edges).tolist()
    except (RuntimeError, OSError, ValueError):
        return None
    loudest = max(peaks, default=0.0) or 1.0
    return Waveform([round(100 * peak / loudest) for peak in peaks], frames / rate)
