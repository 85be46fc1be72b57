"""Write a live_ocr data set: a balanced list of slice values, one composed sample for each, and its manifest."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

from tliveomni_eval.tasks.composer.catalogue import Side
from tliveomni_eval.tasks.composer.ocr_sample import OcrSample, compose_ocr_sample
from tliveomni_eval.tasks.composer.prompts import FIELDS
from tliveomni_eval.tasks.composer.sample_space import LANGUAGES, LINE_COUNTS, QUALITIES, TEXT_HEIGHTS

MANIFEST_NAME: Final = "manifest.jsonl"
FINGERPRINT_NAME: Final = "generator.json"
MEDIA_FOLDER: Final = "media"
# High enough that the codec adds no damage of its own to the strokes of the smallest text.
WEBP_QUALITY: Final = 82
EMBEDDED_SAMPLES: Final = 1500
EMBEDDED_SEED: Final = 20
_SEED_STRIDE: Final = 1_000_000
_ROUND: Final = len(FIELDS) * len(QUALITIES) * len(TEXT_HEIGHTS) * len(LANGUAGES)


@dataclass(frozen=True)
class PlannedSample:
    """A sample to compose: its id, the seed, and the slice values it must have."""

    id: str
    seed: int
    values: dict[str, str]


def plan_samples(count: int, seed: int) -> Iterator[PlannedSample]:
    """Yield ``count`` planned samples, balanced over all slices.

    Every 300 consecutive samples hold each combination of field, quality, text height and language once; the number of
    lines rotates through them, so that no slice attribute predicts another (except that a table has no single line).

    Args:
        count: number of samples, at least 1.
        seed: of the whole set; sets with different seeds share no sample seed.
    """
    grid = list(product(enumerate(FIELDS), enumerate(QUALITIES), enumerate(TEXT_HEIGHTS), enumerate(LANGUAGES)))
    for index in range(count):
        turn, cell = divmod(index, len(grid))
        (_, field), (quality_at, quality), (height_at, text_px), (lang_at, lang) = grid[cell]
        lines = list(LINE_COUNTS)[1 if field == "table" else 0 :]
        values = {
            "field": field,
            "lang": lang,
            "lines": lines[(quality_at + height_at + lang_at + turn) % len(lines)],
            "quality": quality,
            "text_px": text_px,
        }
        yield PlannedSample(f"live_ocr-{index:05d}", seed * _SEED_STRIDE + index, values)


def compose_planned(planned: PlannedSample, side: Side) -> OcrSample:
    """The sample that a plan stands for."""
    return compose_ocr_sample(planned.seed, side, target_values=planned.values)


def manifest_line(planned: PlannedSample, sample: OcrSample) -> dict[str, Any]:
    """The sample's line of the manifest as a JSON object; each sample has its own product, so the cluster is the id."""
    return {
        "id": planned.id,
        "task": "live_ocr",
        "media": [{"type": "image", "path": f"{MEDIA_FOLDER}/{planned.id}.webp"}],
        "prompt": sample.prompt,
        "reference": sample.reference,
        "slices": dict(sorted(sample.slices.items())),
        "cluster": planned.id,
        "context": {"field": sample.field, "lang": sample.slices["lang"]},
    }


def write_sample(folder: Path, planned: PlannedSample, side: Side) -> dict[str, Any]:
    """Compose a sample, write its image, and return its manifest line.

    Raises:
        OSError: the image cannot be written.
    """
    sample = compose_planned(planned, side)
    line = manifest_line(planned, sample)
    sample.image.save(folder / line["media"][0]["path"], quality=WEBP_QUALITY, method=4)
    return line


def manifest_order(planned: PlannedSample) -> tuple[int, int, int]:
    """Key that sorts a manifest so that its first 100, 200, 300, … samples are balanced too (`--limit`).

    Args:
        planned: a sample of `plan_samples`.

    Returns:
        The sample's round of 300, which third of the round it is in, and its index. A third holds each combination of
        field, quality and text height once.
    """
    axes = {"field": FIELDS, "quality": QUALITIES, "text_px": tuple(TEXT_HEIGHTS), "lang": LANGUAGES}
    places = (names.index(planned.values[attribute]) for attribute, names in axes.items())
    index = planned.seed % _SEED_STRIDE
    return index // _ROUND, sum(places) % len(LANGUAGES), index


def write_manifest(folder: Path, lines: list[dict[str, Any]]) -> None:
    """Write the manifest, one JSON object a line, in the order given."""
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / MANIFEST_NAME).write_text(text, encoding="utf-8")


def generator_fingerprint() -> str:
    """SHA-256 over the files that decide what a sample is: code, catalogue, fonts and photographs."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    patterns = ("*.py", "catalogue.json", "fonts/*.?tf", "backgrounds/*.webp")
    for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
        if not path.name.startswith(("prepare_", "compose_command")):
            digest.update(path.relative_to(root).as_posix().encode("utf-8") + b"\0" + path.read_bytes())
    return digest.hexdigest()


def write_fingerprint(folder: Path, samples: int, side: Side, seed: int) -> None:
    """Record how the set was made: the command's arguments, the generator and the manifest's hash."""
    record = {
        "command": f"tlive compose live_ocr --out DIR --samples {samples} --side {side} --seed {seed}",
        "generator_sha256": generator_fingerprint(),
        "manifest_sha256": hashlib.sha256((folder / MANIFEST_NAME).read_bytes()).hexdigest(),
        "samples": samples,
        "seed": seed,
        "side": side,
        "webp_quality": WEBP_QUALITY,
    }
    (folder / FINGERPRINT_NAME).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
