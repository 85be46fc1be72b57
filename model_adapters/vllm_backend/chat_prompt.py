"""From chat messages to the prompt text and media of one request, by the checkpoint's own chat template."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.tasks.image_file import read_image


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
    """

    text: str
    media: Mapping[str, list[Any]]
    media_bytes: int
    key: str


def build_chat_prompt(
    messages: Sequence[Mapping[str, Any]], template: ChatTemplate, media_kinds: frozenset[str]
) -> ChatPrompt:
    """Render messages and decode their media.

    Args:
        messages: lmms-eval chat messages: `{"role", "content": [{"type", "url" | "text"}]}`.
        template: Renders the conversation.
        media_kinds: Kinds of media the checkpoint takes.

    Raises:
        UserError: A kind of media the checkpoint cannot take, or a medium that cannot be read.
    """
    media: dict[str, list[Any]] = {}
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
                raise UserError(
                    f"the task sends {kind} and this checkpoint takes {', '.join(sorted(media_kinds)) or 'text only'}; "
                    f"choose a checkpoint that takes {kind}, or leave the task out"
                )
            item, item_size = _decoded(kind, part["url"], digest)
            media.setdefault(kind, []).append(item)
            size += item_size
            parts.append({"type": kind})
        conversation.append({"role": message["role"], "content": parts})
    text = template.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)
    digest.update(text.encode())
    return ChatPrompt(text, media, size, digest.hexdigest())


def _decoded(kind: str, url: Any, digest: Any) -> tuple[Any, int]:
    if kind == "image":
        image = read_image(Path(url)) if isinstance(url, (str, Path)) else url.convert("RGB")
        assert isinstance(image, Image.Image)
        pixels = image.tobytes()
        digest.update(f"image {image.size}".encode())
        digest.update(pixels)
        return image, len(pixels)
    if kind == "audio" and isinstance(url, Mapping) and "array" in url:
        samples = np.ascontiguousarray(url["array"], dtype=np.float32)
        digest.update(f"audio {samples.shape} {url['sampling_rate']}".encode())
        digest.update(samples.tobytes())
        return (samples, int(url["sampling_rate"])), samples.nbytes
    raise UserError(f"{kind} given as {type(url).__name__} is not supported by this backend")
