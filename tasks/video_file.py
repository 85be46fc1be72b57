"""Reading a video of a sample: a few frames of it with their times, or a message that names the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tliveomni_eval.tasks.media_limits import MAX_SECONDS, MediaError, check_media_file, check_pixels, check_seconds

_MISSING_SHARE = 0.05
"""Share of the length its header states that a whole video may lack: the last frame's own time, and rounding."""

MAX_FRAME_BYTES = 4 * 2**30
"""Of all frames that are taken of one video together, decoded."""

_TIMELESS_FRAMES = 500_000
"""Frames after which a video whose frames do not advance in time is given up: an hour has 432,000 at 120 a second."""


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
        MediaError: The file is missing, empty, no video, damaged, or beyond a limit of `media_limits`.
    """
    with OpenedVideo(path) as (container, stream):
        rate = float(stream.average_rate or stream.guessed_rate or 1)
        width, height = stream.width, stream.height
        duration = _stated_duration(container, stream) or _counted_duration(path)
        most = min(max_frames(width, height), round(duration * rate))
        wanted = max(1, min(most, round(duration * frames_a_second)))
        if wanted * width * height * 3 > MAX_FRAME_BYTES:
            raise MediaError(
                f"video {path}: {wanted} frames of {width}×{height} pixels, more than the limit of {MAX_FRAME_BYTES} "
                "bytes; make it smaller"
            )
        step = duration / wanted
        frames: list[npt.NDArray[np.uint8]] = []
        times: list[float] = []
        for frame, time in _decoded(path, container):
            # A sample stands for a stretch of `step` seconds and is taken at its start.
            if len(frames) < wanted and time + 0.5 / rate >= len(frames) * step:
                # A recorded stream may change its resolution on the way; the model is given one.
                frames.append(frame.to_ndarray(format="rgb24", width=width, height=height))
                times.append(time)
    if not frames:
        raise MediaError(f"video {path}: has no frame that can be decoded; replace it")
    return SampledVideo(np.stack(frames), tuple(times), rate, duration, max(1, round(duration * rate)))


def has_sound(path: Path) -> bool:
    """Whether a video has an audio track.

    Raises:
        MediaError: The file cannot be opened as a video.
    """
    with OpenedVideo(path) as (container, _):
        return len(container.streams.audio) > 0


def video_size(path: Path) -> tuple[int, int, float]:
    """Width and height in pixels and length in seconds, of the header where it states one.

    Raises:
        MediaError: The file cannot be opened as a video.
    """
    with OpenedVideo(path) as (container, stream):
        seconds = _stated_duration(container, stream)
        return stream.width, stream.height, seconds or _counted_duration(path)


def check_video(path: Path) -> None:
    """Decode a whole video.

    Raises:
        MediaError: The file is missing, empty, no video, damaged, beyond a limit of `media_limits`, or ends before the
            length that its header states.
    """
    with OpenedVideo(path) as (container, stream):
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


class OpenedVideo:
    """Context manager of a container and its first video stream.

    Args:
        path: Video file.

    Raises:
        MediaError: On entering: the file is missing, empty, no video, damaged, or beyond a limit of `media_limits`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> tuple[Any, Any]:
        import av

        path = self._path
        check_media_file("video", path)
        if not path.is_file():
            raise MediaError(f"video {path}: there is no such file; restore it or remove its line from the manifest")
        container_format, reason = _container_format(path)
        if reason:
            raise MediaError(f"video {path}: {reason}; replace it or remove its line from the manifest")
        try:
            # The format is fixed and only files are opened: a playlist inside would name other files, or addresses.
            self._container = av.open(
                f"file:{path}", format=container_format, options={"protocol_whitelist": "file"}, timeout=60
            )
        except (av.FFmpegError, OSError, ValueError) as error:
            raise MediaError(
                f"video {path}: cannot be opened ({_reason(error)}); it is damaged or truncated, replace it"
            ) from None
        if not self._container.streams.video:
            self._container.close()
            raise MediaError(f"video {path}: has no video track; name it as audio, or replace it")
        stream = self._container.streams.video[0]
        if stream.codec_context is None:
            self._container.close()
            raise MediaError(f"video {path}: its codec is not known; write it as H.264, or replace it")
        try:
            check_pixels("video", path, stream.width, stream.height)
            check_seconds("video", path, _stated_duration(self._container, stream))
        except MediaError:
            self._container.close()
            raise
        stream.thread_type = "AUTO"
        return self._container, stream

    def __exit__(self, *_: object) -> None:
        self._container.close()


def _container_format(path: Path) -> tuple[str, str]:
    """FFmpeg's name of the container that the first bytes show, and why there is none; one of them is empty."""
    with path.open("rb") as file:
        start = file.read(64)
    if not start:
        return "", "it has 0 bytes"
    if start.startswith(b"version https://git-lfs"):
        return "", "it is a Git LFS pointer, not the file (`git lfs pull` fetches it)"
    if start[4:8] in (b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide"):
        return "mov", ""
    if start.startswith(b"\x1a\x45\xdf\xa3"):
        return "matroska", ""
    if start.startswith(b"RIFF") and start[8:12] == b"AVI ":
        return "avi", ""
    if start.startswith(b"FLV\x01"):
        return "flv", ""
    if start.startswith(b"OggS"):
        return "ogg", ""
    for magic, name in ((b"\xff\xd8\xff", "a JPEG image"), (b"\x89PNG", "a PNG image")):
        if start.startswith(magic):
            return "", f"it is {name}"
    if start.lstrip()[:1] in (b"<", b"{", b"[", b"#") or start.startswith(b"ffconcat"):
        return "", "it is text, not a video"
    return "", "its first bytes are of no container that is read here (MP4, MOV, WebM, Matroska, AVI, FLV, Ogg)"


def _stated_duration(container: Any, stream: Any) -> float:
    """Seconds as the header states; 0 where it does not."""
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    return float(container.duration / 1_000_000) if container.duration else 0.0


def _counted_duration(path: Path) -> float:
    with OpenedVideo(path) as (container, stream):
        rate = float(stream.average_rate or stream.guessed_rate or 1)
        return max((time + 1 / rate for _, time in _decoded(path, container)), default=0.0)


def _decoded(path: Path, container: Any) -> Iterator[tuple[Any, float]]:
    """Each frame and its time in seconds from the first one."""
    import av

    first: float | None = None
    try:
        for number, frame in enumerate(container.decode(video=0)):
            time = float(frame.time or 0.0)
            first = time if first is None else first
            if time - first > MAX_SECONDS or number > _TIMELESS_FRAMES:
                raise MediaError(f"video {path}: goes on after the limit of {MAX_SECONDS:.0f} s; cut it")
            yield frame, time - first
    except (av.FFmpegError, OSError, ValueError) as error:
        raise MediaError(f"video {path}: cannot be decoded ({_reason(error)}); it is damaged, replace it") from None


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
