"""Calibration samples: composed on the training side, never taken from evaluation data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from tliveomni_eval.model_adapters.quantization.recipe import CalibrationSettings

SIDE: Final = "train"
"""Side of the composer: product names and sentences of this side occur in no evaluation sample."""

PROBE_SEED_OFFSET = 1_000_000
"""Seeds of the samples that measure block errors start this far after the calibration's first seed."""


@dataclass(frozen=True, slots=True)
class CalibrationSample:
    """One image with its instruction and the right answer.

    Attributes:
        seed: Seed that composed it.
        image: A `PIL.Image.Image` in RGB.
        prompt: Instruction.
        answer: Reference answer; calibrating on it shows the quantizer what decoding looks like.
    """

    seed: int
    image: Any
    prompt: str
    answer: str


def compose_samples(seeds: Iterable[int]) -> Iterator[CalibrationSample]:
    """Composes training-side samples.

    Args:
        seeds: One seed a sample; the same seed gives the same sample.
    """
    from tliveomni_eval.tasks.composer.ocr_sample import compose_ocr_sample

    for seed in seeds:
        sample = compose_ocr_sample(seed, side=SIDE)
        yield CalibrationSample(seed, sample.image, sample.prompt, sample.reference)


def calibration_seeds(settings: CalibrationSettings) -> range:
    """Seeds of the calibration samples of a recipe."""
    return range(settings.first_seed, settings.first_seed + settings.samples)


def probe_seeds(settings: CalibrationSettings | None, samples: int) -> range:
    """Seeds of the samples that measure block errors: training side too, and none of them calibrates."""
    first = (settings.first_seed if settings else 0) + PROBE_SEED_OFFSET
    return range(first, first + samples)


def fingerprint_samples(samples: Iterable[CalibrationSample]) -> str:
    """sha256 over seed, prompt, answer, size and pixels of each sample, in order."""
    digest = hashlib.sha256()
    for sample in samples:
        header = [str(sample.seed), sample.prompt, sample.answer, f"{sample.image.width}x{sample.image.height}"]
        for text in header:
            encoded = text.encode()
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
        digest.update(sample.image.convert("RGB").tobytes())
    return digest.hexdigest()


def encode_sample(sample: CalibrationSample, processor: Any) -> tuple[dict[str, Any], int]:
    """Runs a sample through the checkpoint's chat template and processor, the answer included.

    Args:
        sample: The sample.
        processor: A transformers multimodal processor.

    Returns:
        The model's inputs as tensors of batch size 1, and the position of the answer's first token.
    """
    question = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": sample.prompt}]}
    answer = {"role": "assistant", "content": [{"type": "text", "text": sample.answer}]}
    # Templates end a message with a newline after its end token; a model stops before it and never learns it.
    whole = processor.apply_chat_template([question, answer], tokenize=False).rstrip("\n")
    opening = processor.apply_chat_template([question], tokenize=False, add_generation_prompt=True)
    inputs = dict(processor(text=[whole], images=[sample.image], return_tensors="pt"))
    answer_ids = processor.tokenizer(whole.removeprefix(opening), add_special_tokens=False)["input_ids"]
    return inputs, inputs["input_ids"].shape[1] - len(answer_ids)
