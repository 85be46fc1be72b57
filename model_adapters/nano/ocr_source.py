"""The one place where training touches the OCR generator (`tasks.composer`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.tasks.composer import ocr_sample

VALIDATION_SEED_START = 1_000_000_000
"""Training-side seeds from here on are never trained on: they are the validation samples."""


@dataclass(frozen=True, slots=True)
class OcrExample:
    """A sample as training sees it.

    Attributes:
        pixels: (height, width, 3) bytes.
        prompt: The question.
        reference: The right answer.
        slices: Attribute to value, for reports.
    """

    pixels: NDArray[np.uint8]
    prompt: str
    reference: str
    slices: dict[str, str]


def alphabet() -> tuple[str, ...]:
    """Every character that the generator can draw or ask."""
    return tuple(ocr_sample.ALPHABET)


def prompts() -> tuple[str, ...]:
    """Every prompt that the generator can ask."""
    return tuple(ocr_sample.PROMPTS.values())


def image_sizes() -> tuple[tuple[int, int], ...]:
    """(width, height) in pixels of every image size."""
    return tuple(ocr_sample.IMAGE_SIZES)


def training_example(seed: int, difficulty: float) -> OcrExample:
    """The training-side example of a seed; difficulty 0 is one large clean line, 1 the full distribution."""
    sample = ocr_sample.compose_ocr_sample(seed, "train", difficulty=difficulty)
    return OcrExample(np.asarray(sample.image), sample.prompt, sample.reference, dict(sample.slices))


def validation_example(index: int) -> OcrExample:
    """The validation example of an index, at full difficulty."""
    return training_example(VALIDATION_SEED_START + index, 1.0)
