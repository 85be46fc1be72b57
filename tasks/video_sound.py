"""The sound of a video, on the clock of its frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tliveomni_eval.tasks.media_limits import MAX_SECONDS, MediaError
from tliveomni_eval.tasks.video_file import OpenedVideo


def read_sound(path: Path, sampling_rate: int) -> npt.NDArray[np.float32]:
    """Decode the first audio track of a video to mono.

    Args:
        path: Video file.
        sampling_rate: Samples a second to convert to.

    Returns:
        float32 in about -1..1, (samples,). The first sample is heard when the first frame is seen: where the track
        begins later, there are zeros before it, and where earlier, that part is left out. Empty where the video has no
        audio track, or one without samples.

    Raises:
        MediaError: The file is missing, no video, damaged, or its sound goes on for longer than a limit.
    """
    import av

    with OpenedVideo(path) as (container, video):
        if not container.streams.audio:
            return np.zeros(0, dtype=np.float32)
        begins = float((video.start_time or 0) * video.time_base) if video.time_base else 0.0
        resampler = av.AudioResampler(format="fltp", rate=sampling_rate)
        parts: list[npt.NDArray[np.float32]] = []
        heard_from: float | None = None
        held = 0
        try:
            for frame in container.decode(audio=0):
                if heard_from is None:
                    heard_from = float(frame.time or 0.0)
                held += _append(parts, resampler.resample(frame))
                if held > MAX_SECONDS * sampling_rate:
                    raise MediaError(f"video {path}: its sound goes on after the limit of {MAX_SECONDS:.0f} s; cut it")
            if heard_from is not None:
                _append(parts, resampler.resample(None))
        except (av.FFmpegError, OSError, ValueError) as error:
            reason = str(getattr(error, "strerror", None) or error)
            raise MediaError(
                f"video {path}: its sound cannot be decoded ({reason}); it is damaged, replace it"
            ) from None
    if not parts:
        return np.zeros(0, dtype=np.float32)
    lead = round(((heard_from or 0.0) - begins) * sampling_rate)
    silence = np.zeros(max(0, lead), dtype=np.float32)
    samples: npt.NDArray[np.float32] = np.concatenate([silence, *parts])[max(0, -lead) :]
    if not np.isfinite(samples).all():
        raise MediaError(f"video {path}: some samples of its sound are not finite numbers; write it again")
    return samples


def _append(parts: list[npt.NDArray[np.float32]], frames: list[Any]) -> int:
    # Channels are averaged, as those of an audio file are; FFmpeg's own way to mono is louder.
    added = [frame.to_ndarray().mean(axis=0, dtype=np.float32) for frame in frames if frame.samples]
    parts += added
    return sum(map(len, added))
