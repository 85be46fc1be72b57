"""Evaluation inside a training run: greedy reading of held-out samples, scored by exact match and edit similarity.

These figures steer training. The figures of the model card come from vLLM and the `live_ocr` task.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from rapidfuzz.distance import Levenshtein

from . import ocr_source
from .lean_forward import text_forward
from .lean_vision import VisionOutput, vision_forward
from .prompt_encoding import PromptEncoder
from .prompt_shape import prompt_shape


@dataclass(frozen=True, slots=True)
class Reading:
    """What the model read.

    Attributes:
        example: The sample.
        hypothesis: The model's text.
    """

    example: ocr_source.OcrExample
    hypothesis: str

    @property
    def is_exact(self) -> bool:
        """Whether the text equals the reference, outer white space aside."""
        return self.hypothesis.strip() == self.example.reference.strip()

    @property
    def similarity(self) -> float:
        """1 less the edit distance over the longer length, 0..1; 1 for two empty texts."""
        return float(Levenshtein.normalized_similarity(self.hypothesis.strip(), self.example.reference.strip()))


def load_embedded_examples(folder: Path, at_most: int | None = None) -> list[ocr_source.OcrExample]:
    """Reads an evaluation set in the data-manifest format (`manifest.jsonl` and media), or its first samples."""
    examples = []
    for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()[:at_most]:
        entry = json.loads(line)
        (image_entry,) = entry["media"]
        with Image.open(folder / image_entry["path"]) as image:
            pixels = np.asarray(image.convert("RGB"))
        examples.append(ocr_source.OcrExample(pixels, entry["prompt"], entry["reference"], dict(entry["slices"])))
    return examples


def _batches(
    examples: Iterable[ocr_source.OcrExample], batch_size: int
) -> Iterator[tuple[int, list[ocr_source.OcrExample]]]:
    """Groups by image size and field kind; yields the answer limit in tokens and a batch."""
    groups: dict[tuple[tuple[int, ...], bool], list[ocr_source.OcrExample]] = defaultdict(list)
    for example in examples:
        groups[example.pixels.shape, example.slices["field"] == "table"].append(example)
    for (_, is_table), members in groups.items():
        for start in range(0, len(members), batch_size):
            yield (104 if is_table else 40), members[start : start + batch_size]


def greedy_ids(
    weights: Mapping[str, torch.Tensor],
    config: Any,
    encoder: PromptEncoder,
    pixels: torch.Tensor,
    questions: Sequence[Sequence[int]],
    most_tokens: int,
) -> list[list[int]]:
    """Greedy decoding of a batch of images of one size, without a key-value cache.

    Args:
        weights: Weights by name.
        config: The `Qwen3VLConfig`.
        encoder: Encodes prompts.
        pixels: (batch, height, width, 3) bytes on the device.
        questions: Ids between image and answer for each sample.
        most_tokens: Longest answer.

    Returns:
        Generated ids for each sample, the end of turn included where it came.
    """
    device = pixels.device
    batch, height, width, _ = pixels.shape
    lengths = torch.tensor([len(question) for question in questions], device=device)
    longest = max(len(question) for question in questions) + most_tokens
    tail = torch.zeros((batch, longest), dtype=torch.long, device=device)
    for row, question in enumerate(questions):
        tail[row, : len(question)] = torch.tensor(question, device=device)
    prefix = torch.tensor(encoder.prefix_ids, device=device)
    shape = prompt_shape(config, (width, height), len(prefix), longest, device)
    vision: VisionOutput = vision_forward(weights, config, shape, pixels)
    rows = torch.arange(batch, device=device)
    done = torch.zeros(batch, dtype=torch.bool, device=device)
    for step in range(most_tokens):
        # Always the full length: attention kernels are planned anew for every new shape, which costs far more.
        logits = text_forward(weights, config, shape, prefix, vision, tail)
        chosen = logits[rows, lengths + step - 1].argmax(-1)
        tail[rows, lengths + step] = torch.where(done, 0, chosen)
        done |= chosen == encoder.end_id
        if step % 4 == 3 and bool(done.all()):
            break
    return [tail[row, len(question) : len(question) + most_tokens].tolist() for row, question in enumerate(questions)]


def read_examples(
    weights: Mapping[str, torch.Tensor],
    config: Any,
    encoder: PromptEncoder,
    examples: Sequence[ocr_source.OcrExample],
    device: torch.device,
    batch_size: int = 256,
) -> list[Reading]:
    """Reads examples, in groups of one image size."""
    readings = []
    for most_tokens, batch in _batches(examples, batch_size):
        pixels = torch.from_numpy(np.stack([example.pixels for example in batch])).to(device)
        questions = [encoder.question_ids(example.prompt) for example in batch]
        with torch.no_grad():
            ids = greedy_ids(weights, config, encoder, pixels, questions, most_tokens)
        readings += [Reading(example, encoder.decode(row)) for example, row in zip(batch, ids, strict=True)]
    return readings


def summary_lines(
    readings: Sequence[Reading], attributes: Sequence[str] = ("field", "text_px", "quality")
) -> list[str]:
    """A report: all samples, then each value of the attributes."""

    def line(name: str, members: Sequence[Reading]) -> str:
        exact = sum(reading.is_exact for reading in members) / len(members)
        similarity = sum(reading.similarity for reading in members) / len(members)
        return f"{name:<20} n {len(members):5d}  exact {exact:.4f}  edit similarity {similarity:.4f}"

    lines = [line("all", readings)]
    for attribute in attributes:
        for value in sorted({reading.example.slices[attribute] for reading in readings}):
            members = [reading for reading in readings if reading.example.slices[attribute] == value]
            lines.append(line(f"{attribute}={value}", members))
    return lines
