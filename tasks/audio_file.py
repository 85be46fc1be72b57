"""Reading audio of a sample: decoded whole to mono, or a message that names the file."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray
from tliveomni_eval.tasks.media_limits import MediaError, check_media_file, check_seconds

MAX_VALUES = 3_600 * 48_000 * 2
"""Samples times channels of one file: an hour of stereo. Compressed silence of many channels is small until decoded."""

_OGG_HEADER = 27


@dataclass(frozen=True, slots=True)
class AudioClip:
    """Decoded audio.

    Attributes:
        samples: float32 in -1..1, shape (length,), channels averaged.
        sampling_rate: Samples a second, as stored in the file.
    """

    samples: NDArray[np.float32]
    sampling_rate: int

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.sampling_rate


def read_audio(path: Path) -> AudioClip:
    """Decode an audio file (WAV, FLAC, Ogg Opus, Ogg Vorbis or MP3).

    Args:
        path: Audio file.

    Raises:
        MediaError: The file is missing, empty, truncated, holds no audio or a codec that is not read here, has samples
            that are no numbers, or is beyond a limit of `media_limits`, which is looked at before it is decoded.
    """
    stored = _stored_length(path)
    try:
        frames, rate = soundfile.read(path, dtype="float32", always_2d=True)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise MediaError(f"audio {path}: cannot be decoded ({error}); it is damaged or truncated, replace it") from None
    if len(frames) == 0:
        raise MediaError(f"audio {path}: it holds no samples; replace it or remove its line from the manifest")
    if len(frames) < stored:
        raise MediaError(
            f"audio {path}: {len(frames)} of the {stored} samples that its header names; it is truncated, replace it"
        )
    samples = np.ascontiguousarray(frames.mean(axis=1), dtype=np.float32)
    if not np.isfinite(samples).all():
        raise MediaError(f"audio {path}: some samples are not finite numbers; write it again")
    return AudioClip(samples, int(rate))


def audio_seconds(path: Path) -> float:
    """Length of an audio file by its header, without decoding it.

    Raises:
        MediaError: As `read_audio`, as far as the header shows it.
    """
    _stored_length(path)
    return float(soundfile.info(path).duration)


def _stored_length(path: Path) -> int:
    """Frames that the header names, after everything that can be refused without decoding."""
    check_media_file("audio", path)
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise MediaError(
            f"audio {path}: there is no such file; restore it or remove its line from the manifest"
        ) from None
    if size == 0:
        raise MediaError(f"audio {path}: it has 0 bytes; replace it or remove its line from the manifest")
    if missing := _missing_bytes(path, size):
        raise MediaError(f"audio {path}: it breaks off, {missing}; it is truncated, replace it")
    try:
        info = soundfile.info(path)
    except (soundfile.LibsndfileError, RuntimeError):
        raise MediaError(
            f"audio {path}: its {size} bytes are not audio that is read here; write it as WAV, FLAC, Ogg Opus or MP3 "
            f"(ffmpeg -i {path.name} -ar 16000 -ac 1 -c:a libopus {path.stem}.opus)"
        ) from None
    check_seconds("audio", path, info.duration)
    if info.frames * info.channels > MAX_VALUES:
        raise MediaError(
            f"audio {path}: {info.frames} samples of {info.channels} channels, more than the limit of {MAX_VALUES} "
            "values; mix it down or resample it"
        )
    return int(info.frames)


def _missing_bytes(path: Path, size: int) -> str:
    """What a WAV or Ogg file lacks; libsndfile reads a cut one without a word. Empty where nothing is missing."""
    with path.open("rb") as file:
        content = file.read(12)
        if content[:4] == b"RIFF" and content[8:12] == b"WAVE":
            position = 12
            while position + 8 <= size:
                file.seek(position)
                name, length = struct.unpack("<4sI", file.read(8))
                # Writers that stream leave the length at 0 or its maximum.
                if name == b"data" and length not in (0, 0xFFFFFFFF) and position + 8 + length > size:
                    return f"{position + 8 + length - size} bytes of its samples are missing"
                position += 8 + length + length % 2
        elif content[:4] == b"OggS":
            file.seek(0)
            return _missing_in_ogg(file.read())
    return ""


def _missing_in_ogg(content: bytes) -> str:
    position = 0
    while position < len(content):
        header = content[position : position + _OGG_HEADER]
        if len(header) < _OGG_HEADER or header[:4] != b"OggS":
            return "its last page has no whole header" if b"OggS".startswith(header[:4]) else ""
        segments = content[position + _OGG_HEADER : position + _OGG_HEADER + header[26]]
        position += _OGG_HEADER + header[26] + sum(segments)
        if len(segments) < header[26] or position > len(content):
            return "its last page is not whole"
    return ""
