"""How media become part of a prompt: what the user asked for, and what the checkpoint takes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments
from tliveomni_eval.model_adapters.vllm_backend.pixel_limits import PixelLimits
from tliveomni_eval.model_adapters.vllm_backend.video_frames import FrameSampling, frame_sampling

FRAMES_SET_BY_RATE = ("Qwen3OmniMoe", "Qwen2_5Omni")
"""Architectures that place frames by the rate their processor is told, not by times written into the prompt."""


@dataclass(frozen=True, slots=True)
class MediaSettings:
    """What holds for the media of every prompt of a run.

    Attributes:
        media_kinds: Kinds of media the checkpoint takes: a subset of image, video, audio.
        use_audio_in_video: Whether the sound of a video is given with it, interleaved by time.
        audio_rate: Samples a second that the checkpoint takes; None where it does not say, and audio goes as it is.
        frames: How frames of a video are taken.
        pixels: How large images and frames may be.
        rate_to_processor: Whether the processor is told the rate of the frames.
    """

    media_kinds: frozenset[str]
    use_audio_in_video: bool = False
    audio_rate: int | None = None
    frames: FrameSampling = field(default_factory=FrameSampling)
    pixels: PixelLimits = field(default_factory=PixelLimits)
    rate_to_processor: bool = False

    def as_record(self) -> dict[str, Any]:
        """What `run.json` notes; only what matters for the kinds that the checkpoint takes."""
        record: dict[str, Any] = {}
        if "video" in self.media_kinds:
            record |= {
                "use_audio_in_video": self.use_audio_in_video,
                "fps": self.frames.frames_a_second,
                "max_frames": self.frames.max_frames,
            }
        if self.media_kinds & {"image", "video"}:
            record |= {"min_pixels": self.pixels.least, "max_pixels": self.pixels.most}
        return record

    def describe(self) -> str:
        """One line for the log; empty for a checkpoint without video and without limits of pixels."""
        parts = []
        if "video" in self.media_kinds:
            parts.append(self.frames.describe())
            parts.append("their sound is interleaved" if self.use_audio_in_video else "without their sound")
        if self.pixels.least or self.pixels.most:
            parts.append(f"images and frames have {self.pixels.least or 0} to {self.pixels.most or 'any'} pixels")
        return "; ".join(parts)


def resolve_media_settings(
    arguments: ModelArguments, media_kinds: frozenset[str], architecture: str, processor: Any, context: int | None
) -> MediaSettings:
    """Merge what the user set with what the checkpoint's processor asks for.

    Args:
        arguments: What the user set.
        media_kinds: Kinds of media the checkpoint takes.
        architecture: Its model class by name.
        processor: Its transformers processor.
        context: Tokens that prompt and answer may take; None where not known.

    Raises:
        UserError: The sound of videos is asked for, and the checkpoint cannot hear; or pixel limits contradict.
    """
    hears_videos = {"audio", "video"} <= media_kinds
    if arguments.use_audio_in_video and not hears_videos:
        takes = ", ".join(sorted(media_kinds)) or "text only"
        raise UserError(
            f"--model_args: use_audio_in_video=true, but this checkpoint takes {takes}, so it cannot hear a video; "
            "leave the argument out, or choose a checkpoint that takes audio and video"
        )
    least, most = arguments.min_pixels, arguments.max_pixels
    if least is not None and most is not None and least > most:
        raise UserError(f"--model_args: min_pixels={least} is more than max_pixels={most}")
    frames = frame_sampling(processor, context)
    asked = arguments.use_audio_in_video
    extractor = getattr(processor, "feature_extractor", None)
    return MediaSettings(
        media_kinds=media_kinds,
        use_audio_in_video=hears_videos if asked is None else asked,
        audio_rate=getattr(extractor, "sampling_rate", None) if "audio" in media_kinds else None,
        frames=replace(
            frames,
            frames_a_second=arguments.fps or frames.frames_a_second,
            max_frames=arguments.max_frames or frames.max_frames,
        ),
        pixels=PixelLimits(least, most, frames.pixels_a_token),
        rate_to_processor=architecture.startswith(FRAMES_SET_BY_RATE),
    )
