"""From chat messages to the prompt text and media of one request, by the checkpoint's own chat template."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tliveomni_eval.model_adapters.vllm_backend.media_input import MediaInput, read_medium
from tliveomni_eval.model_adapters.vllm_backend.media_settings import MediaSettings
from tliveomni_eval.tasks.video_file import has_sound

SOUND_OF_VIDEO = "sound of the video"
"""What is left out of a prompt where a video has an audio track, and is given as its frames alone."""


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
        media: Kind of media to its items in prompt order, as vLLM's `multi_modal_data` takes them. The sound of a video
            stands among the audios, in the place of its video.
        media_bytes: Decoded size of the media, for the memory bound.
        key: SHA-256 of text and decoded media: equal keys mean equal input.
        ignored: Kinds of media that the checkpoint does not take and that were left out of the prompt.
        processor_kwargs: What the checkpoint's processor is told of these media, as `mm_processor_kwargs`.
        records: What was given of each medium, in prompt order, as JSON values.
    """

    text: str
    media: Mapping[str, list[Any]]
    media_bytes: int
    key: str
    ignored: frozenset[str] = frozenset()
    processor_kwargs: Mapping[str, Any] = field(default_factory=dict)
    records: tuple[Mapping[str, Any], ...] = ()


def build_chat_prompt(
    messages: Sequence[Mapping[str, Any]], template: ChatTemplate, settings: MediaSettings
) -> ChatPrompt:
    """Render messages and decode their media, but for kinds that the checkpoint does not take: those are left out.

    The sound of videos is given where each video of the prompt has some: an engine interleaves it for all or for none.

    Args:
        messages: lmms-eval chat messages: `{"role", "content": [{"type", "url" | "text"}]}`.
        template: Renders the conversation.
        settings: What holds for media of the run.

    Raises:
        UserError: A medium that cannot be read, or is given in a form this backend does not know.
    """
    taken = [part for part in media_parts(messages) if part["type"] in settings.media_kinds]
    ignored = {part["type"] for part in media_parts(messages)} - settings.media_kinds
    videos = [part["url"] for part in taken if part["type"] == "video"]
    audible = [_has_sound(video) for video in videos]
    with_sound = settings.use_audio_in_video and bool(videos) and all(audible)
    inputs = [read_medium(part["type"], part["url"], settings, with_sound) for part in taken]
    if with_sound and any(medium.kind == "video" and medium.sound is None for medium in inputs):
        # A track without samples is none.
        with_sound, audible = False, [medium.sound is not None for medium in inputs if medium.kind == "video"]
    if any(audible) and not with_sound:
        ignored.add(SOUND_OF_VIDEO)

    conversation = [
        {"role": message["role"], "content": [*_template_parts(message["content"], settings.media_kinds)]}
        for message in messages
    ]
    text = template.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)
    return ChatPrompt(
        text,
        _items(inputs, with_sound),
        sum(medium.size for medium in inputs),
        _key(text, inputs, with_sound),
        frozenset(ignored),
        _processor_kwargs(inputs, settings, with_sound),
        tuple(medium.record for medium in inputs),
    )


def media_parts(messages: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The parts of messages that are media, in order.

    Args:
        messages: lmms-eval chat messages.
    """
    return (part for message in messages for part in message["content"] if part["type"] != "text")


def _template_parts(content: Sequence[Mapping[str, Any]], kinds: frozenset[str]) -> Iterator[dict[str, str]]:
    for part in content:
        if part["type"] == "text":
            yield {"type": "text", "text": part["text"]}
        elif part["type"] in kinds:
            yield {"type": part["type"]}


def _has_sound(source: Any) -> bool:
    return isinstance(source, (str, Path)) and has_sound(Path(source))


def _items(inputs: Sequence[MediaInput], with_sound: bool) -> dict[str, list[Any]]:
    items: dict[str, list[Any]] = {}
    for medium in inputs:
        items.setdefault(medium.kind, []).append(medium.item)
        if with_sound and medium.kind == "video":
            items.setdefault("audio", []).append(medium.sound)
    return items


def _key(text: str, inputs: Sequence[MediaInput], with_sound: bool) -> str:
    digest = hashlib.sha256()
    for medium in inputs:
        digest.update(medium.form.encode())
        digest.update(medium.pixels_or_samples.tobytes())
        if with_sound and medium.sound is not None:
            samples, rate = medium.sound
            digest.update(f"sound {samples.shape} {rate}".encode())
            digest.update(samples.tobytes())
    digest.update(text.encode())
    return digest.hexdigest()


def _processor_kwargs(inputs: Sequence[MediaInput], settings: MediaSettings, with_sound: bool) -> dict[str, Any]:
    kwargs: dict[str, Any] = {"use_audio_in_video": True} if with_sound else {}
    rates = [medium.record["fps"] for medium in inputs if medium.kind == "video"]
    if settings.rate_to_processor and rates:
        kwargs["fps"] = rates[0]
    return kwargs
