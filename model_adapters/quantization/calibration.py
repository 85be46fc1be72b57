"""Calibration samples: composed on the training side, or of a folder that `tlive calibrate` chose."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.quantization.recipe import CalibrationSettings

SIDE: Final = "train"
"""Side of the composer: product names and sentences of this side occur in no evaluation sample."""

CALIBRATION_REPORT: Final = "calibration.json"
"""What `tlive calibrate` writes beside its manifest."""

PROBE_SEED_OFFSET = 1_000_000
"""Seeds of the samples that measure block errors start this far after the calibration's first seed."""


@dataclass(frozen=True, slots=True)
class CalibrationSample:
    """Images, or none, with an instruction and the right answer.

    Attributes:
        seed: Seed that composed it, or its line from 0 in a folder.
        images: `PIL.Image.Image` in RGB, in prompt order.
        prompt: Instruction.
        answer: Reference answer; calibrating on it shows the quantizer what decoding looks like.
    """

    seed: int
    images: tuple[Any, ...]
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
        yield CalibrationSample(seed, (sample.image,), sample.prompt, sample.reference)


def folder_samples(folder: Path) -> tuple[list[CalibrationSample], dict[str, int]]:
    """Samples of a folder that `tlive calibrate` wrote.

    Args:
        folder: Data folder with `calibration.json`.

    Returns:
        The samples with images, or those of text alone where none has any, and how many others were left out by kind:
        this environment decodes no audio and no video, and llm-compressor traces the model on one kind of input.

    Raises:
        UserError: The folder is faulty, was not made by `tlive calibrate`, or has no sample of images or text.
    """
    from tliveomni_eval.tasks.image_file import read_image
    from tliveomni_eval.tasks.manifest import ManifestError, Sample, read_lines

    if not (folder / CALIBRATION_REPORT).is_file():
        raise UserError(
            f"--calibration {folder}: no {CALIBRATION_REPORT} in it, so nobody checked that it holds no evaluation "
            "data; make the folder with `tlive calibrate`"
        )
    samples: list[CalibrationSample] = []
    left_out: dict[str, int] = {}
    for number, item in read_lines(folder):
        if not isinstance(item, Sample):
            raise ManifestError(folder, [item])
        others = {media.type for media in item.media} - {"image"}
        for kind in others:
            left_out[kind] = left_out.get(kind, 0) + 1
        if others:
            continue
        answer = item.reference if isinstance(item.reference, str) else json.dumps(item.reference, ensure_ascii=False)
        images = tuple(read_image(folder / media.path) for media in item.media)
        samples.append(CalibrationSample(number - 1, images, item.prompt or "", answer))
    if not samples:
        raise UserError(f"--calibration {folder}: it holds no sample of images or text")
    pictured = [sample for sample in samples if sample.images]
    if pictured and len(pictured) < len(samples):
        left_out["text alone"] = len(samples) - len(pictured)
        samples = pictured
    return samples, left_out


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
        sizes = [f"{image.width}x{image.height}" for image in sample.images]
        header = [str(sample.seed), sample.prompt, sample.answer, *sizes]
        for text in header:
            encoded = text.encode()
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
        for image in sample.images:
            digest.update(image.convert("RGB").tobytes())
    return digest.hexdigest()


def encode_sample(sample: CalibrationSample, processor: Any) -> tuple[dict[str, Any], int]:
    """Runs a sample through the checkpoint's chat template and processor, the answer included.

    Args:
        sample: The sample.
        processor: A transformers multimodal processor.

    Returns:
        The model's inputs as tensors of batch size 1, and the position of the answer's first token.
    """
    images: list[dict[str, str]] = [{"type": "image"} for _ in sample.images]
    question = {"role": "user", "content": [*images, {"type": "text", "text": sample.prompt}]}
    answer = {"role": "assistant", "content": [{"type": "text", "text": sample.answer}]}
    # Templates end a message with a newline after its end token; a model stops before it and never learns it.
    whole = processor.apply_chat_template([question, answer], tokenize=False).rstrip("\n")
    opening = processor.apply_chat_template([question], tokenize=False, add_generation_prompt=True)
    inputs = dict(processor(text=[whole], images=list(sample.images) or None, return_tensors="pt"))
    answer_ids = processor.tokenizer(whole.removeprefix(opening), add_special_tokens=False)["input_ids"]
    return inputs, inputs["input_ids"].shape[1] - len(answer_ids)
