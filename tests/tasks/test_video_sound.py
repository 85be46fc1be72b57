"""The sound of a video is on the clock of its frames, and what cannot be decoded is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from tliveomni_eval.tasks.media_limits import MediaError
from tliveomni_eval.tasks.video_sound import read_sound

RATE = 16_000
SECONDS = 3


def _write(path: Path, sound_from: float | None, channels: int = 1) -> None:
    """A video of `SECONDS`; its sound is a tone that begins at `sound_from` seconds, in a lossless codec."""
    with av.open(str(path), "w", format="matroska") as container:
        video: Any = container.add_stream("mpeg4", rate=10)
        video.width, video.height, video.pix_fmt = 64, 64, "yuv420p"
        sound: Any = None
        if sound_from is not None:
            sound = container.add_stream("pcm_s16le", rate=RATE, layout="mono" if channels == 1 else "stereo")
        for tick in range(10 * SECONDS):
            frame = av.VideoFrame.from_ndarray(np.full((64, 64, 3), tick, dtype=np.uint8), format="rgb24")
            frame.pts = tick
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
        if sound is not None:
            block = np.tile((_tone() * 32_767).astype(np.int16)[:, None], channels).reshape(1, -1)
            audio = av.AudioFrame.from_ndarray(block, format="s16", layout="mono" if channels == 1 else "stereo")
            audio.sample_rate, audio.pts = RATE, round((sound_from or 0) * RATE)
            container.mux(sound.encode(audio))
            container.mux(sound.encode(None))


def _tone() -> Any:
    return (0.5 * np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE)).astype(np.float32)


@pytest.mark.parametrize("channels", [1, 2])
def test_sound_is_mono_and_begins_with_the_first_frame(tmp_path: Path, channels: int) -> None:
    _write(tmp_path / "a.mkv", 0.0, channels)
    sound = read_sound(tmp_path / "a.mkv", RATE)
    assert sound.dtype == np.float32
    assert len(sound) == RATE
    assert np.abs(sound - _tone()).max() < 0.01


def test_sound_that_begins_later_has_silence_before_it(tmp_path: Path) -> None:
    _write(tmp_path / "a.mkv", 1.5)
    sound = read_sound(tmp_path / "a.mkv", RATE)
    assert len(sound) == round(2.5 * RATE)
    assert not sound[: round(1.49 * RATE)].any()
    assert np.abs(sound[round(1.5 * RATE) :] - _tone()).max() < 0.01


def test_sound_comes_at_the_rate_asked_for(tmp_path: Path) -> None:
    _write(tmp_path / "a.mkv", 0.0)
    assert abs(len(read_sound(tmp_path / "a.mkv", 8_000)) - 8_000) <= 16


def test_video_without_sound_gives_no_samples(tmp_path: Path) -> None:
    _write(tmp_path / "a.mkv", None)
    assert len(read_sound(tmp_path / "a.mkv", RATE)) == 0


def test_what_is_no_video_is_named(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match=r"gone\.mkv"):
        read_sound(tmp_path / "gone.mkv", RATE)
    (tmp_path / "a.mkv").write_bytes(b"no video at all")
    with pytest.raises(MediaError, match=r"a\.mkv"):
        read_sound(tmp_path / "a.mkv", RATE)
