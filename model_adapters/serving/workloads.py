"""Requests of one kind: generated to the token, or of a data folder."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.serving_figures import Modality
from tliveomni_eval.model_adapters.serving.generated_media import write_audio, write_image, write_video
from tliveomni_eval.tasks.manifest import Sample, check_folder


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """One request.

    Attributes:
        messages: lmms-eval chat messages, media by path.
        output_tokens: Tokens that are decoded, exactly.
    """

    messages: tuple[dict[str, Any], ...]
    output_tokens: int


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """What a generated workload consists of.

    Attributes:
        name: What it is called.
        modality: What its requests carry.
        prompt_tokens: Tokens of the whole prompt, media and template included.
        output_tokens: Tokens that are decoded.
        pixels: Width and height of an image or a frame.
        seconds: Length of audio or video.
    """

    name: str
    modality: Modality
    prompt_tokens: int
    output_tokens: int
    pixels: tuple[int, int] = (448, 448)
    seconds: float = 4.0


WORKLOADS: dict[str, WorkloadSpec] = {
    spec.name: spec
    for spec in (
        WorkloadSpec("text", "text", 512, 64),
        WorkloadSpec("image", "image", 512, 64),
        WorkloadSpec("video", "video", 1_024, 64, (224, 224), 4.0),
        WorkloadSpec("video_long", "video", 20_000, 4_096, (448, 448), 100.0),
        WorkloadSpec("audio", "audio", 512, 64, seconds=10.0),
    )
}

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_HEADER = 8
_ATTEMPTS = 12
_LONGEST_TAIL = 6


def generated(
    spec: WorkloadSpec, count: int, seed: int, scratch: Path, count_tokens: Callable[[Sequence[dict[str, Any]]], int]
) -> list[BenchRequest]:
    """Requests with media that differ and prompts of the same number of tokens.

    Args:
        spec: What to make.
        count: How many.
        seed: Of media and texts.
        scratch: Folder for the media.
        count_tokens: How many tokens messages have at the backend.

    Raises:
        UserError: The media alone have more tokens than the prompt may.
    """
    requests = []
    words = 0
    for number in range(count):
        part = _medium(spec, seed * 100_003 + number, scratch / f"{spec.name}-{seed}-{number}")
        messages, words = _padded(spec, part, random.Random(seed * 7_919 + number), words, count_tokens)
        requests.append(BenchRequest((messages,), spec.output_tokens))
    return requests


def of_folder(folder: Path, modality: Modality, count: int, output_tokens: int) -> list[BenchRequest]:
    """The first samples of a data folder that carry a modality and have a prompt.

    Args:
        folder: Data folder.
        modality: What the samples must carry; `text` is a sample without media.
        count: How many, at most.
        output_tokens: Tokens that are decoded.

    Raises:
        UserError: The folder is faulty, or has no such sample.
    """
    samples, faults = check_folder(folder)
    if faults:
        raise UserError(f"{folder}: {faults[0]}; `tlive data check {folder}` lists all faults")
    fitting = [sample for sample in samples if _carries(sample, modality) and sample.prompt][:count]
    if not fitting:
        raise UserError(f"{folder}: no sample with a prompt carries {modality}")
    return [BenchRequest((_message(sample, folder),), output_tokens) for sample in fitting]


def scaled(spec: WorkloadSpec, prompt_tokens: int | None, output_tokens: int | None) -> WorkloadSpec:
    """A workload with other lengths where they are given."""
    return replace(
        spec,
        prompt_tokens=prompt_tokens or spec.prompt_tokens,
        output_tokens=output_tokens or spec.output_tokens,
    )


def _carries(sample: Sample, modality: Modality) -> bool:
    kinds = {media.type for media in sample.media}
    return not kinds if modality == "text" else modality in kinds


def _message(sample: Sample, folder: Path) -> dict[str, Any]:
    media = [{"type": item.type, "url": str((folder / item.path).resolve())} for item in sample.media]
    return {"role": "user", "content": [*media, {"type": "text", "text": sample.prompt or ""}]}


def _medium(spec: WorkloadSpec, seed: int, path: Path) -> list[dict[str, Any]]:
    if spec.modality == "text":
        return []
    if spec.modality == "image":
        return [{"type": "image", "url": str(write_image(path.with_suffix(".jpg"), spec.pixels, seed))}]
    if spec.modality == "video":
        written = write_video(path.with_suffix(".mp4"), spec.pixels, spec.seconds, seed)
        return [{"type": "video", "url": str(written)}]
    return [{"type": "audio", "url": str(write_audio(path.with_suffix(".wav"), spec.seconds, seed))}]


def _padded(
    spec: WorkloadSpec,
    media: list[dict[str, Any]],
    chance: random.Random,
    guess: int,
    count_tokens: Callable[[Sequence[dict[str, Any]]], int],
) -> tuple[dict[str, Any], int]:
    """A message of exactly the wanted tokens, or of the most below that words reach; and how many words that took."""
    # Prompts differ from the first word on, so that no prefix of one answers for another; the rest counts evenly.
    header = "".join(chance.choices(_LETTERS, k=_HEADER))

    def message(words: int, tail: str = "") -> dict[str, Any]:
        return {"role": "user", "content": [*media, {"type": "text", "text": f"{header}{' a' * words}{tail}"}]}

    def tokens(words: int) -> int:
        return count_tokens([message(words)])

    words = max(1, guess)
    least = 0
    for _ in range(_ATTEMPTS):
        found = tokens(words)
        if found == spec.prompt_tokens:
            return message(words), words
        if found > spec.prompt_tokens and words <= 1:
            raise UserError(
                f"workload {spec.name}: its media and the template alone have {found} tokens, more than the "
                f"{spec.prompt_tokens} of the prompt; ask for more with --prompt-tokens"
            )
        least = least or (found if words == 1 else tokens(1))
        per_word = max(1.0, (found - least) / (words - 1)) if words > 1 else 1.0
        moved = words + int((spec.prompt_tokens - found) / per_word)
        words = max(1, min(spec.prompt_tokens, moved if moved != words else words - 1))
    while words > 1 and tokens(words) > spec.prompt_tokens:
        words -= 1
    for length in range(1, _LONGEST_TAIL + 1):
        if count_tokens([message(words, "!" * length)]) == spec.prompt_tokens:
            return message(words, "!" * length), words
    return message(words), words
