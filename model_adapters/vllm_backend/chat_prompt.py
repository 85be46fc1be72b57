"""From chat messages to the prompt text and media of one request, by the checkpoint's own chat template."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.vllm_backend.video_frames import FrameSampling, read_video_frames
from tliveomni_eval.tasks.audio_file import read_audio
from tliveomni_eval.tasks.image_file import read_image
from tliveomni_eval.tasks.video_file import has_sound

SOUND_OF_VIDEO = "sound of the video"
"""What is left out of a prompt where a video has an audio track: a video is given as its frames."""


class ChatTemplate(Protocol):
    """What renders messages: a transformers processor or tokenizer."""

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> str:
        """Render a conversation to the text the model continues."""
        ...


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """One request before it enters the engine.

    Attributes:
        text: Rendered prompt with one placeholder for each medium.
        media: Kind of media to its items in prompt order, as vLLM's `multi_modal_data` takes them.
        media_bytes: Decoded size of the media, for the memory bound.
        key: SHA-256 of text and decoded media: equal keys mean equal input.
        ignored: Kinds of media that the checkpoint does not take and that were left out of the prompt.
    """

    text: str
    media: Mapping[str, list[Any]]
    media_bytes: int
    key: str
    ignored: frozenset[str] = frozenset()


def build_chat_prompt(
    messages: Sequence[Mapping[str, Any]],
    template: ChatTemplate,
    media_kinds: frozenset[str],
    frame_sampling: FrameSampling | None = None,
) -> ChatPrompt:
    """Render messages and decode their media, but for kinds that the checkpoint does not take: those are left out.

    Args:
        messages: lmms-eval chat messages: `{"role", "content": [{"type", "url" | "text"}]}`.
        template: Renders the conversation.
        media_kinds: Kinds of media the checkpoint takes.
        frame_sampling: How frames of a video are taken; None for the defaults.

    Raises:
        UserError: A medium that cannot be read, or is given in a form this backend does not know.
    """
    media: dict[str, list[Any]] = {}
    ignored: set[str] = set()
    digest = hashlib.sha256()
    conversation, size = [], 0
    for message in messages:
        parts: list[dict[str, str]] = []
        for part in message["content"]:
            kind = part["type"]
            if kind == "text":
                parts.append({"type": "text", "text": part["text"]})
                continue
            if kind not in media_kinds:
                ignored.add(kind)
                continue
            item, item_size = _decoded(kind, part["url"], digest, frame_sampling or FrameSampling())
            if kind == "video" and has_sound(Path(part["url"])):
                ignored.add(SOUND_OF_VIDEO)
            media.setdefault(kind, []).append(item)
            size += item_size
            parts.append({"type": kind})
        conversation.append({"role": message["role"], "content": parts})
    text = template.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)
    digest.update(text.encode())
    return ChatPrompt(text, media, size, digest.hexdigest(), frozenset(ignored))


def _decoded(kind: str, url: Any, digest: Any, frame_sampling: FrameSampling) -> tuple[Any, int]:
    if kind == "image":
        image = read_image(Path(url)) if isinstance(url, (str, Path)) else url.convert("RGB")
        assert isinstance(image, Image.Image)
        pixels = image.tobytes()
        digest.update(f"image {image.size}".encode())
        digest.update(pixels)
        return image, len(pixels)
    if kind == "audio":
        samples, rate = _audio_samples(url)
        digest.update(f"audio {samples.shape} {rate}".encode())
        digest.update(samples.tobytes())
        return (samples, rate), samples.nbytes
    if kind == "video" and isinstance(url, (str, Path)):
        video, metadata = read_video_frames(Path(url), frame_sampling)
        digest.update(f"video {video.frames.shape} {video.times}".encode())
        digest.update(video.frames.tobytes())
        return (video.frames, metadata), video.frames.nbytes
    raise UserError(f"{kind} given as {type(url).__name__} is not supported by this backend")


def _audio_samples(url: Any) -> tuple[NDArray[np.float32], int]:
    if isinstance(url, (str, Path)):
        clip = read_audio(Path(url))
        return clip.samples, clip.sampling_rate
    if isinstance(url, Mapping) and "array" in url:
        return np.ascontiguousarray(url["array"], dtype=np.float32), int(url["sampling_rate"])
    raise UserError(f"audio given as {type(url).__name__} is not supported by this backend")
