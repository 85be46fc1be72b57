"""Write a stream's frames, and its sound where it has one, into an MP4 file (H.264, Opus)."""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
import numpy.typing as npt
from tliveomni_eval.tasks.composer.stream.stream_space import FRAME_SIZE, TICKS_PER_SECOND

CRF: Final = 33
SAMPLE_RATE: Final = 16_000
AUDIO_BITS_A_SECOND: Final = 11_000
_AUDIO_FRAME: Final = 960


def write_stream(
    path: Path, frames: Iterable[npt.NDArray[np.uint8]], sound: npt.NDArray[np.float32] | None = None
) -> None:
    """Encode a stream.

    Args:
        path: `.mp4` file to write.
        frames: RGB, shape (height, width, 3), one a tick.
        sound: Mono, 16 kHz, -1 to 1, as long as the frames; None for a stream without an audio track.

    Raises:
        OSError: The file cannot be written.
    """
    with av.open(str(path), "w", options={"movflags": "+faststart"}) as container:
        video: Any = container.add_stream("libx264", rate=TICKS_PER_SECOND)
        video.width, video.height = FRAME_SIZE
        video.pix_fmt = "yuv420p"
        # One thread, so that the bytes do not depend on the machine's number of cores.
        video.options = {"crf": str(CRF), "preset": "veryfast", "threads": "1", "g": "600", "tune": "animation"}
        audio: Any = None
        if sound is not None:
            audio = container.add_stream("libopus", rate=SAMPLE_RATE, layout="mono")
            audio.bit_rate = AUDIO_BITS_A_SECOND
        for picture in frames:
            container.mux(video.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(video.encode(None))
        if audio is not None and sound is not None:
            for start in range(0, len(sound), _AUDIO_FRAME):
                piece = np.zeros((1, _AUDIO_FRAME), dtype=np.float32)
                piece[0, : len(sound[start : start + _AUDIO_FRAME])] = sound[start : start + _AUDIO_FRAME]
                chunk = av.AudioFrame.from_ndarray(piece, format="flt", layout="mono")
                chunk.sample_rate, chunk.pts, chunk.time_base = SAMPLE_RATE, start, Fraction(1, SAMPLE_RATE)
                container.mux(audio.encode(chunk))
            container.mux(audio.encode(None))
