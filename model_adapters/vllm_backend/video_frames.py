"""Which frames of a video a checkpoint is given: as many a second as its video processor asks for, if they fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tliveomni_eval.tasks.video_file import SampledVideo, sample_video

DEFAULT_FRAMES_A_SECOND = 2.0
DEFAULT_MAX_FRAMES = 768
RESERVED_TOKENS = 1024
"""Of the context, for the question and the answer."""
_TOKENS_OF_A_TIMESTAMP = 16
"""Upper bound of what a time such as `<123.5 seconds>` takes, with the marks around a frame."""


@dataclass(frozen=True, slots=True)
class FrameSampling:
    """How frames are taken.

    Attributes:
        frames_a_second: Of the video's time.
        max_frames: Of one video, at least 1.
        context: Tokens that prompt and answer may take; None where not known.
        pixels_a_token: Side in pixels of the square of a frame that becomes one token.
        frames_a_token: Frames that are merged into one along time.
    """

    frames_a_second: float = DEFAULT_FRAMES_A_SECOND
    max_frames: int = DEFAULT_MAX_FRAMES
    context: int | None = None
    pixels_a_token: int = 32
    frames_a_token: int = 2

    def frames_that_fit(self, width: int, height: int) -> int:
        """The most frames of a size in pixels for which the context has room, at least one merged group.

        Args:
            width: Of the video.
            height: Of the video.
        """
        if self.context is None:
            return self.max_frames
        tokens = math.ceil(width / self.pixels_a_token) * math.ceil(height / self.pixels_a_token)
        groups = (self.context - RESERVED_TOKENS) // (tokens + _TOKENS_OF_A_TIMESTAMP)
        return max(self.frames_a_token, min(self.max_frames, groups * self.frames_a_token))

    def describe(self) -> str:
        """One line for the log."""
        room = f", fewer where {self.context} tokens hold no more" if self.context is not None else ""
        return f"videos are given as {self.frames_a_second:g} frames a second, at most {self.max_frames}{room}"


def frame_sampling(processor: Any, context: int | None) -> FrameSampling:
    """What the checkpoint's own video processor asks for.

    Args:
        processor: The transformers processor of the checkpoint; one without a video processor gets the defaults.
        context: Tokens that prompt and answer may take.
    """
    video = getattr(processor, "video_processor", None)
    patch, merge = getattr(video, "patch_size", 16), getattr(video, "merge_size", 2)
    return FrameSampling(
        frames_a_second=float(getattr(video, "fps", None) or DEFAULT_FRAMES_A_SECOND),
        max_frames=int(getattr(video, "max_frames", None) or DEFAULT_MAX_FRAMES),
        context=context,
        pixels_a_token=int(patch) * int(merge),
        frames_a_token=int(getattr(video, "temporal_patch_size", None) or 2),
    )


def read_video_frames(path: Path, sampling: FrameSampling) -> tuple[SampledVideo, Mapping[str, Any]]:
    """Frames of a video, and what vLLM's processors are told about them.

    Args:
        path: Video file; decoded here and not before.
        sampling: How frames are taken.

    Raises:
        MediaError: The file cannot be used.
    """
    video = sample_video(path, sampling.frames_a_second, sampling.frames_that_fit)
    # A processor computes a frame's time as its index over the rate.
    metadata = {
        "fps": video.frame_rate,
        "duration": video.duration,
        "total_num_frames": video.total_frames,
        "frames_indices": [round(time * video.frame_rate) for time in video.times],
        "video_backend": "pyav",
        "do_sample_frames": False,
    }
    return video, metadata
