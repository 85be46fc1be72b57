"""Reading a video of a sample: a few frames of it with their times, or a message that names the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tliveomni_eval.tasks.image_file import MediaError

_MISSING_SHARE = 0.05
"""Share of the length its header states that a whole video may lack: the last frame's own time, and rounding."""


@dataclass(frozen=True, slots=True)
class SampledVideo:
    """Frames of a video.

    Attributes:
        frames: RGB, shape (frames, height, width, 3).
        times: Seconds from the start of the video, one a frame.
        frame_rate: Of the file, frames a second.
        duration: Of the file, seconds.
        total_frames: Of the file.
    """

    frames: npt.NDArray[np.uint8]
    times: tuple[float, ...]
    frame_rate: float
    duration: float
    total_frames: int


def sample_video(path: Path, frames_a_second: float, max_frames: Callable[[int, int], int]) -> SampledVideo:
    """Decode frames at even distances.

    Args:
        path: Video file.
        frames_a_second: How many to take; a video of fewer gives all it has.
        max_frames: Given width and height in pixels, how many at most, spread over the whole video.

    Returns:
        At least one frame.

    Raises:
        MediaError: The file is missing, empty, no video, or damaged.
    """
    with _opened(path) as (container, stream):
        rate = float(stream.average_rate or stream.guessed_rate or 1)
        duration = _stated_duration(container, stream) or _counted_duration(path)
        most = min(max_frames(stream.width, stream.height), round(duration * rate))
        wanted = max(1, min(most, round(duration * frames_a_second)))
        step = duration / wanted
        frames: list[npt.NDArray[np.uint8]] = []
        times: list[float] = []
        for frame, time in _decoded(path, container):
            # A sample stands for a stretch of `step` seconds and is taken at its start.
            if len(frames) < wanted and time + 0.5 / rate >= len(frames) * step:
                frames.append(frame.to_ndarray(format="rgb24"))
                times.append(time)
    if not frames:
        raise MediaError(f"video {path}: has no frame that can be decoded; replace it")
    return SampledVideo(np.stack(frames), tuple(times), rate, duration, max(1, round(duration * rate)))


def check_video(path: Path) -> None:
    """Decode a whole video.

    Raises:
        MediaError: The file is missing, empty, no video, damaged, or ends before the length that its header states.
    """
    with _opened(path) as (container, stream):
        stated = _stated_duration(container, stream)
        rate = float(stream.average_rate or stream.guessed_rate or 1)
        end = 0.0
        for _, time in _decoded(path, container):
            end = max(end, time + 1 / rate)
    if end == 0.0:
        raise MediaError(f"video {path}: has no frame that can be decoded; replace it")
    if stated and end < stated * (1 - _MISSING_SHARE) - 1 / rate:
        raise MediaError(
            f"video {path}: its header states {stated:.1f} s and it ends after {end:.1f} s; it is truncated, replace it"
        )


class _opened:
    """Context manager of a container and its first video stream, whose faults are `MediaError`s."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> tuple[Any, Any]:
        import av

        path = self._path
        if not path.is_file():
            raise MediaError(f"video {path}: there is no such file; restore it or remove its line from the manifest")
        if reason := _no_video(path):
            raise MediaError(f"video {path}: {reason}; replace it or remove its line from the manifest")
        try:
            self._container = av.open(str(path))
        except (av.FFmpegError, OSError, ValueError) as error:
            raise MediaError(
                f"video {path}: cannot be opened ({_reason(error)}); it is damaged or truncated, replace it"
            ) from None
        if not self._container.streams.video:
            self._container.close()
            raise MediaError(f"video {path}: has no video track; name it as audio, or replace it")
        stream = self._container.streams.video[0]
        stream.thread_type = "AUTO"
        return self._container, stream

    def __exit__(self, *_: object) -> None:
        self._container.close()


def _no_video(path: Path) -> str:
    """Why the first bytes cannot be a video's; empty where they may."""
    with path.open("rb") as file:
        start = file.read(64)
    if not start:
        return "it has 0 bytes"
    if start.startswith(b"version https://git-lfs"):
        return "it is a Git LFS pointer, not the file (`git lfs pull` fetches it)"
    for magic, name in ((b"\xff\xd8\xff", "a JPEG image"), (b"\x89PNG", "a PNG image"), (b"RIFF", "")):
        if start.startswith(magic) and name:
            return f"it is {name}"
    if start.lstrip()[:1] in (b"<", b"{", b"["):
        return "it is text, not a video"
    return ""


def _stated_duration(container: Any, stream: Any) -> float:
    """Seconds as the header states; 0 where it does not."""
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    return float(container.duration / 1_000_000) if container.duration else 0.0


def _counted_duration(path: Path) -> float:
    with _opened(path) as (container, stream):
        rate = float(stream.average_rate or stream.guessed_rate or 1)
        return max((time + 1 / rate for _, time in _decoded(path, container)), default=0.0)


def _decoded(path: Path, container: Any) -> Iterator[tuple[Any, float]]:
    """Each frame and its time in seconds from the first one."""
    import av

    first: float | None = None
    try:
        for frame in container.decode(video=0):
            time = float(frame.time or 0.0)
            first = time if first is None else first
            yield frame, time - first
    except (av.FFmpegError, OSError, ValueError) as error:
        raise MediaError(f"video {path}: cannot be decoded ({_reason(error)}); it is damaged, replace it") from None


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
