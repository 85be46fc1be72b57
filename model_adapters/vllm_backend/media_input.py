"""One medium of a prompt: decoded, brought to what the checkpoint takes, and described for the sample's log."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.signal import resample_poly
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.tliveomni.audio_lengths import MIN_SAMPLES, SAMPLING_RATE, TOKENS_A_PART
from tliveomni_eval.model_adapters.vllm_backend.media_settings import MediaSettings
from tliveomni_eval.model_adapters.vllm_backend.video_frames import FrameSampling, read_video_frames
from tliveomni_eval.tasks.audio_file import read_audio
from tliveomni_eval.tasks.image_file import read_image
from tliveomni_eval.tasks.video_sound import read_sound


@dataclass(frozen=True, slots=True)
class MediaInput:
    """A medium as it goes into a prompt.

    Attributes:
        kind: `image`, `audio` or `video`.
        item: As vLLM's `multi_modal_data` takes it.
        pixels_or_samples: What decides the answer, for the key of the prompt: an array.
        form: Shape, rate and times of it in words, likewise for the key.
        record: What the checkpoint was given, as JSON values: size in pixels, frames, seconds.
        sound: The sound of a video as an item of its own, (samples, rate); None without.
    """

    kind: str
    item: Any
    pixels_or_samples: NDArray[Any]
    form: str
    record: Mapping[str, Any]
    sound: tuple[NDArray[np.float32], int] | None = None

    @property
    def size(self) -> int:
        """Bytes it takes decoded."""
        return int(self.pixels_or_samples.nbytes + (self.sound[0].nbytes if self.sound is not None else 0))


def read_medium(kind: str, source: Any, settings: MediaSettings, with_sound: bool = False) -> MediaInput:
    """Decode a medium.

    Args:
        kind: `image`, `audio` or `video`.
        source: A path; or an image, or a mapping with `array` and `sampling_rate`.
        settings: What holds for media of the run.
        with_sound: Whether a video is given with its sound.

    Raises:
        UserError: The medium cannot be read, is too short, or is given in a form that this backend does not know.
    """
    if kind == "image":
        return _image(source, settings)
    if kind == "audio":
        return _audio(source, settings)
    if kind == "video" and isinstance(source, (str, Path)):
        return _video(Path(source), settings, with_sound)
    raise UserError(f"{kind} given as {type(source).__name__} is not supported by this backend")


def at_rate(samples: NDArray[np.float32], rate: int, wanted: int | None) -> NDArray[np.float32]:
    """Samples at another rate, by a polyphase filter (`scipy.signal.resample_poly`).

    Args:
        samples: (samples,).
        rate: Samples a second that they have.
        wanted: Samples a second to have; None to leave them as they are.
    """
    if wanted is None or wanted == rate:
        return samples
    common = math.gcd(rate, wanted)
    return np.ascontiguousarray(resample_poly(samples, wanted // common, rate // common), dtype=np.float32)


def _image(source: Any, settings: MediaSettings) -> MediaInput:
    image = read_image(Path(source)) if isinstance(source, (str, Path)) else source.convert("RGB")
    assert isinstance(image, Image.Image)
    image = settings.pixels.image(image)
    record = {"type": "image", "width": image.width, "height": image.height}
    return MediaInput("image", image, np.asarray(image), f"image {image.size}", record)


def _audio(source: Any, settings: MediaSettings) -> MediaInput:
    if isinstance(source, (str, Path)):
        clip = read_audio(Path(source))
        samples, rate, name = clip.samples, clip.sampling_rate, f"audio {source}"
    elif isinstance(source, Mapping) and "array" in source:
        samples = np.ascontiguousarray(source["array"], dtype=np.float32)
        rate, name = int(source["sampling_rate"]), f"audio {source.get('path') or 'given as an array'}"
    else:
        raise UserError(f"audio given as {type(source).__name__} is not supported by this backend")
    samples, rate = at_rate(samples, rate, settings.audio_rate), settings.audio_rate or rate
    if _too_short(samples, rate):
        raise UserError(
            f"{name}: {len(samples) / rate * 1000:.1f} ms long, which is too short for a model to hear "
            f"(more than {(MIN_SAMPLES - 1) / SAMPLING_RATE * 1000:g} ms are needed); leave the sample out"
        )
    record = {"type": "audio", "seconds": round(len(samples) / rate, 3), "sampling_rate": rate}
    return MediaInput("audio", (samples, rate), samples, f"audio {samples.shape} {rate}", record)


def _video(path: Path, settings: MediaSettings, with_sound: bool) -> MediaInput:
    rate = settings.audio_rate or SAMPLING_RATE
    sound = read_sound(path, rate) if with_sound else np.zeros(0, dtype=np.float32)
    heard = not _too_short(sound, rate)
    sampling = _beside_sound(settings.frames, len(sound) / rate) if heard else settings.frames
    video, metadata = read_video_frames(path, sampling)
    frames = settings.pixels.frames(video.frames)
    record = {
        "type": "video",
        "frames": len(frames),
        "width": int(frames.shape[2]),
        "height": int(frames.shape[1]),
        "seconds": round(video.duration, 3),
        "fps": round(len(frames) / video.duration, 4) if video.duration else None,
        "sound_seconds": round(len(sound) / rate, 3) if heard else None,
    }
    form = f"video {frames.shape} {video.times}"
    return MediaInput("video", (frames, metadata), frames, form, record, (sound, rate) if heard else None)


def _beside_sound(sampling: FrameSampling, seconds: float) -> FrameSampling:
    """Frames have the room that the tokens of the sound leave."""
    if sampling.context is None:
        return sampling
    return replace(sampling, context=max(0, sampling.context - math.ceil(seconds * TOKENS_A_PART)))


def _too_short(samples: NDArray[np.float32], rate: int) -> bool:
    return len(samples) * SAMPLING_RATE < MIN_SAMPLES * rate
