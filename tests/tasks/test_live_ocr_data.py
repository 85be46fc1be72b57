"""The embedded live_ocr set: complete, balanced, what the generator makes, and legible to an independent reader."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from independent_reader import similarities
from PIL import Image
from tliveomni_eval.tasks.composer.live_ocr_set import compose_planned, manifest_line, manifest_order, plan_samples
from tliveomni_eval.tasks.composer.photographs import PHOTOGRAPH_FOLDER
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA
from tliveomni_eval.tasks.manifest import Sample, check_folder

FOLDER = EMBEDDED_DATA / "live_ocr"
LINES = (FOLDER / "manifest.jsonl").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    loaded, faults = check_folder(FOLDER, known_tasks=("live_ocr",))
    assert not faults
    return loaded


def test_the_set_is_large_and_the_files_are_small(samples: list[Sample]) -> None:
    assert len(samples) >= 1200
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 16e6
    assert {path.name for path in (FOLDER / "media").iterdir()} == {Path(s.media[0].path).name for s in samples}


def test_every_slice_value_has_at_least_200_images(samples: list[Sample]) -> None:
    counts = Counter(item for sample in samples for item in sample.slices.items())
    assert {attribute for attribute, _ in counts} == {"lang", "text_px", "field", "quality", "lines"}
    assert min(counts.values()) >= 200


@pytest.mark.parametrize(
    ("one", "other"), [("field", "quality"), ("field", "lang"), ("quality", "text_px"), ("lang", "text_px")]
)
def test_slices_are_not_confounded(samples: list[Sample], one: str, other: str) -> None:
    pairs = Counter((sample.slices[one], sample.slices[other]) for sample in samples)
    assert len(set(pairs.values())) == 1


def test_ids_are_unique_and_clusters_are_their_own(samples: list[Sample]) -> None:
    ids = [sample.id for sample in samples]
    assert len(set(ids)) == len(ids)
    assert [sample.cluster for sample in samples] == ids


@pytest.mark.parametrize("limit", [100, 500, 1000, 1200])
def test_the_first_hundreds_are_balanced(samples: list[Sample], limit: int) -> None:
    counts = Counter(item for sample in samples[:limit] for item in sample.slices.items())
    for attribute, values in (("field", 5), ("quality", 5), ("text_px", 4)):
        assert {count for (name, _), count in counts.items() if name == attribute} == {limit // values}
    assert all(abs(counts["lang", lang] - limit / 3) <= 1 for lang in ("zh", "en", "mixed"))


def test_the_generator_still_makes_the_set() -> None:
    record = json.loads((FOLDER / "generator.json").read_text(encoding="utf-8"))
    assert record["manifest_sha256"] == hashlib.sha256((FOLDER / "manifest.jsonl").read_bytes()).hexdigest()
    planned = sorted(plan_samples(record["samples"], record["seed"]), key=manifest_order)
    for index in range(0, len(planned), 97):
        sample = compose_planned(planned[index], record["side"])
        assert manifest_line(planned[index], sample) == json.loads(LINES[index])
        with Image.open(FOLDER / "media" / f"{planned[index].id}.webp") as stored:
            assert stored.size == sample.image.size
            difference = np.asarray(stored.convert("RGB"), dtype=float) - np.asarray(sample.image, dtype=float)
        # WebP and another Pillow's rounding may change pixels, another picture or text would change them far more.
        assert np.abs(difference).mean() < 6


def test_every_photograph_in_the_frames_is_credited() -> None:
    licences = (FOLDER / "LICENSES.md").read_text(encoding="utf-8")
    table = (PHOTOGRAPH_FOLDER / "LICENSES.md").read_text(encoding="utf-8").splitlines()
    authors = [line.split("|")[2].split("(")[0].split(",")[0].strip() for line in table if ".webp |" in line]
    assert len(authors) > 5
    assert [author for author in authors if author not in licences] == []


def test_rapidocr_reads_the_clean_frames(samples: list[Sample]) -> None:
    clean = [sample for sample in samples if sample.slices["quality"] == "clean"][::5]
    read = similarities(FOLDER, clean)
    assert len(read) == 60
    assert sum(read.values()) / len(read) >= 0.9
    for attribute in ("lang", "text_px", "field", "lines"):
        for value in {sample.slices[attribute] for sample in clean}:
            of_value = [read[sample.id] for sample in clean if sample.slices[attribute] == value]
            assert sum(of_value) / len(of_value) >= 0.9, f"{attribute}={value}"
