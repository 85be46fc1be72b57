"""The OCR task: the generator's samples, sorted by image size and answer length into shape classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as functional

from . import ocr_source
from .image_pool import PoolLayout, Sample
from .lean_forward import text_forward
from .lean_vision import vision_forward
from .prompt_encoding import PromptEncoder
from .prompt_shape import PromptShape, prompt_shape
from .training_task import ShapeClass

KINDS = ("line", "table")
"""Short answers, and tables, whose answers are several times longer."""
_IGNORED = -100


@dataclass
class OcrTask:
    """Reading one field of a frame.

    Attributes:
        config: The `Qwen3VLConfig`.
        encoder: Encodes prompts and answers.
        tail_lengths: Tokens after the image by kind; longer samples are left out.
        patches_a_batch: Vision patches that a batch holds, about; the batch size follows from the image size.
        largest_batch: Most samples in a batch.
        capacity: Samples held on the device by kind.
        corruption: Share of the decoder's answer inputs that are replaced by a random token, so that it reads instead
            of guessing the continuation.
    """

    config: Any
    encoder: PromptEncoder
    tail_lengths: Mapping[str, int]
    patches_a_batch: int = 61_440
    largest_batch: int = 256
    capacity: int = 16_384
    corruption: float = 0.04
    name: str = "ocr"

    def pool_name(self, image_size: tuple[int, int], kind: str) -> str:
        """Name of the pool of a size and kind, for example `ocr-320x192-line`."""
        return f"{self.name}-{image_size[0]}x{image_size[1]}-{kind}"

    def layouts(self) -> Mapping[str, PoolLayout]:
        """One pool for each image size and kind."""
        return {
            self.pool_name(size, kind): PoolLayout(
                {
                    "pixels": ((size[1], size[0], 3), "uint8"),
                    "tail": ((self.tail_lengths[kind],), "int16"),
                    "answer": ((2,), "int16"),
                },
                min(self.capacity, self.capacity * 320 * 192 // (size[0] * size[1])),
            )
            for size in ocr_source.image_sizes()
            for kind in KINDS
        }

    def sample(self, seed: int, difficulty: float) -> tuple[str, Sample] | None:
        """Renders and encodes the training-side sample of a seed."""
        return self.encoded(ocr_source.training_example(seed, difficulty))

    def encoded(self, example: ocr_source.OcrExample) -> tuple[str, Sample] | None:
        """The arrays of an example and its pool, or None if it has too many tokens."""
        kind = "table" if example.slices["field"] == "table" else "line"
        tail = self.encoder.encode(example.prompt, example.reference)
        if len(tail.ids) > self.tail_lengths[kind]:
            return None
        height, width, _ = example.pixels.shape
        return self.pool_name((width, height), kind), {
            "pixels": example.pixels,
            "tail": tail.padded(self.tail_lengths[kind]),
            "answer": np.array([tail.answer_start, len(tail.ids)], dtype=np.int16),
        }

    def batch_size(self, image_size: tuple[int, int]) -> int:
        """Samples a batch for an image size, at least 1."""
        return max(1, min(self.largest_batch, self.patches_a_batch * 256 // (image_size[0] * image_size[1])))

    def shape_classes(self, device: torch.device) -> list[ShapeClass]:
        """One class a pool."""
        prefix = torch.tensor(self.encoder.prefix_ids, device=device)
        classes = []
        for size in ocr_source.image_sizes():
            for kind in KINDS:
                shape = prompt_shape(self.config, size, len(prefix), self.tail_lengths[kind], device)
                classes.append(
                    ShapeClass(self.name, self.pool_name(size, kind), self.batch_size(size), self._loss(shape, prefix))
                )
        return classes

    def _loss(self, shape: PromptShape, prefix: torch.Tensor) -> Any:
        def loss(weights: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
            return ocr_loss(weights, self.config, shape, prefix, batch, self.corruption)

        return loss

    def extra_weights(self) -> Mapping[str, torch.Tensor]:
        """None: everything trained here is part of the checkpoint."""
        return {}


def ocr_loss(
    weights: Mapping[str, torch.Tensor],
    config: Any,
    shape: PromptShape,
    prefix: torch.Tensor,
    batch: Mapping[str, torch.Tensor],
    corruption: float,
) -> torch.Tensor:
    """Mean cross-entropy of the answer tokens and the end of turn, in nats.

    Args:
        weights: Weights by name.
        config: The `Qwen3VLConfig`.
        shape: Constants of the shape class.
        prefix: (prefix,) ids before the image.
        batch: `pixels`, `tail`, and `answer` (first answer index and one past the last).
        corruption: Share of answer inputs to replace by a random token.
    """
    tail = batch["tail"].long()
    place = torch.arange(tail.shape[1], device=tail.device)
    start, end = batch["answer"].long().unsqueeze(-1).unbind(1)
    in_answer = (place >= start) & (place < end)
    labels = torch.where(in_answer, tail, _IGNORED)[:, 1:]
    inputs = tail
    if corruption > 0:
        hit = in_answer & (torch.rand(tail.shape, device=tail.device) < corruption)
        inputs = torch.where(hit, torch.randint_like(tail, config.text_config.vocab_size), tail)
    vision = vision_forward(weights, config, shape, batch["pixels"])
    logits = text_forward(weights, config, shape, prefix, vision, inputs[:, :-1])
    return functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=_IGNORED)
