"""Write a set of generated pictures with questions: a composer makes the picture of a number, this writes the folder.

Composers are pure functions of the set's seed and the picture's number, which also decides the picture's place in the
balanced grid of slice values; so any part of a set can be made again by itself.
"""

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from PIL import Image
from tliveomni_eval.tasks.composer.live_ocr_set import (
    FINGERPRINT_NAME,
    MANIFEST_NAME,
    MEDIA_FOLDER,
    generator_fingerprint,
    write_manifest,
)

WEBP_QUALITY: Final = 76


@dataclass(frozen=True)
class Question:
    """One question about a picture.

    Attributes:
        suffix: Tells the questions of a picture apart; empty where there is one.
        prompt: What the model is asked.
        reference: What the task scores against, JSON.
        slices: Attribute to value.
        context: What the scorer needs besides.
    """

    suffix: str
    prompt: str
    reference: Any
    slices: Mapping[str, str]
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Picture:
    """A composed picture and all questions about it: one cluster."""

    image: Image.Image
    questions: tuple[Question, ...]


Composer = Callable[[int, random.Random], Picture]
"""From a picture's number and its random numbers to the picture."""


def compose_picture(composer: Composer, task: str, seed: int, number: int) -> Picture:
    """The picture of a number; the same on every machine (its pixels with the same Pillow)."""
    return composer(number, random.Random(f"{task}|{seed}|{number}"))


def manifest_lines(task: str, number: int, picture: Picture) -> list[dict[str, Any]]:
    """The picture's lines of the manifest, one a question."""
    cluster = f"{task}-{number:05d}"
    return [
        {
            "id": cluster + (f"-{question.suffix}" if question.suffix else ""),
            "task": task,
            "media": [{"type": "image", "path": f"{MEDIA_FOLDER}/{cluster}.webp"}],
            "prompt": question.prompt,
            "reference": question.reference,
            "slices": dict(sorted(question.slices.items())),
            "cluster": cluster,
            "context": dict(question.context),
        }
        for question in picture.questions
    ]


def write_picture(folder: Path, composer: Composer, task: str, seed: int, number: int) -> list[dict[str, Any]]:
    """Compose a picture, write its image, and return its manifest lines.

    Raises:
        OSError: The image cannot be written.
    """
    picture = compose_picture(composer, task, seed, number)
    lines = manifest_lines(task, number, picture)
    picture.image.save(folder / lines[0]["media"][0]["path"], quality=WEBP_QUALITY, method=6)
    return lines


def finish_set(folder: Path, task: str, lines: Iterable[dict[str, Any]], pictures: int, seed: int) -> int:
    """Write the manifest and the record of how the set was made; returns the number of samples."""
    listed = list(lines)
    write_manifest(folder, listed)
    record = {
        "command": f"tlive compose {task} --out DIR --pictures {pictures} --seed {seed}",
        "generator_sha256": generator_fingerprint(),
        "manifest_sha256": hashlib.sha256((folder / MANIFEST_NAME).read_bytes()).hexdigest(),
        "pictures": pictures,
        "samples": len(listed),
        "seed": seed,
        "webp_quality": WEBP_QUALITY,
    }
    (folder / FINGERPRINT_NAME).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return len(listed)
