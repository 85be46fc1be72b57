"""Write a live_localization data set: a balanced list of slice values, a composed scene for each, and its manifest."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tliveomni_eval.tasks.composer.catalogue import Side
from tliveomni_eval.tasks.composer.live_ocr_set import MEDIA_FOLDER
from tliveomni_eval.tasks.composer.localization.localization_sample import (
    LocalizationSample,
    compose_localization_sample,
)
from tliveomni_eval.tasks.composer.localization.scene_space import AREAS, INSTANCES, LANGUAGES, OCCLUSIONS
from tliveomni_eval.tasks.composer.products.product import KINDS
from tliveomni_eval.tasks.composer.set_record import files_sha256, write_set_record

TASK: Final = "live_localization"
EMBEDDED_SAMPLES: Final = 1230
EMBEDDED_SEED: Final = 30
WEBP_QUALITY: Final = 66
_SEED_STRIDE: Final = 1_000_000
_GENERATOR_FILES: Final = (
    "catalogue.*",
    "photographs.py",
    "typefaces.py",
    "fonts/*.?tf",
    "backgrounds/*.webp",
    "products/*.py",
    "localization/*.py",
)


@dataclass(frozen=True)
class PlannedScene:
    """A sample to compose: its id, the seed, and the slice values it must have."""

    id: str
    seed: int
    values: dict[str, str]


def plan_scenes(count: int, seed: int) -> Iterator[PlannedScene]:
    """Yield `count` planned samples, balanced over all slices.

    Every sixth asks for what is not in the picture. The others go through each combination of category, size, occlusion
    and number of instances, once every 259 samples; the language rotates through them.

    Args:
        count: Number of samples, at least 1.
        seed: Of the whole set; sets with different seeds share no sample seed.
    """
    numbers = [value for value in INSTANCES if value != "0"]
    present = absent = 0
    for index in range(count):
        if index % 6 == 5:
            at = (absent % len(KINDS), absent // len(KINDS), 0, 0)
            instances = "0"
            absent += 1
        else:
            rest, category_at = divmod(present, len(KINDS))
            rest, size_at = divmod(rest, len(AREAS))
            rest, occlusion_at = divmod(rest, len(OCCLUSIONS))
            turn, number_at = divmod(rest, len(numbers))
            at = (category_at, size_at + turn, occlusion_at, number_at)
            instances = numbers[number_at]
            present += 1
        values = {
            "category": KINDS[at[0]],
            "instances": instances,
            "lang": LANGUAGES[sum(at) % len(LANGUAGES)],
            "occlusion": list(OCCLUSIONS)[at[2]],
            "size": list(AREAS)[at[1] % len(AREAS)],
        }
        yield PlannedScene(f"{TASK}-{index:05d}", seed * _SEED_STRIDE + index, values)


def compose_scene(planned: PlannedScene, side: Side) -> LocalizationSample:
    """The sample that a plan stands for."""
    return compose_localization_sample(planned.seed, side, target_values=planned.values)


def scene_manifest_line(planned: PlannedScene, sample: LocalizationSample) -> dict[str, Any]:
    """The sample's line of the manifest; each scene is composed by itself, so the cluster is the id."""
    return {
        "id": planned.id,
        "task": TASK,
        "media": [{"type": "image", "path": f"{MEDIA_FOLDER}/{planned.id}.webp"}],
        "reference": [list(box) for box in sample.boxes],
        "slices": dict(sorted(sample.slices.items())),
        "cluster": planned.id,
        "context": {"lang": sample.slices["lang"], "query": sample.query, "label": sample.label},
    }


def write_scene(folder: Path, planned: PlannedScene, side: Side) -> dict[str, Any]:
    """Compose a sample, write its image, and return its manifest line.

    Raises:
        OSError: The image cannot be written.
    """
    sample = compose_scene(planned, side)
    line = scene_manifest_line(planned, sample)
    sample.image.save(folder / line["media"][0]["path"], quality=WEBP_QUALITY, method=5)
    return line


def write_localization_record(folder: Path, samples: int, side: Side, seed: int) -> None:
    """Write how the set was made."""
    write_set_record(
        folder,
        f"tlive compose {TASK} --out DIR --samples {samples} --side {side} --seed {seed}",
        files_sha256(_GENERATOR_FILES),
        samples=samples,
        seed=seed,
        side=side,
        webp_quality=WEBP_QUALITY,
    )
