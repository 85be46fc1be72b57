"""The embedded live_localization set: complete, balanced, what the generator makes, and true to its boxes."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tliveomni_eval.tasks.composer.localization.localization_sample import compose_localization_sample
from tliveomni_eval.tasks.composer.localization.localization_set import compose_scene, plan_scenes, scene_manifest_line
from tliveomni_eval.tasks.composer.localization.scene import Scene
from tliveomni_eval.tasks.composer.localization.scene_space import AREAS, INSTANCES
from tliveomni_eval.tasks.composer.products.product import FORMS, KINDS, draw_product
from tliveomni_eval.tasks.composer.products.product_picture import product_picture
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA
from tliveomni_eval.tasks.manifest import Sample, check_folder

FOLDER = EMBEDDED_DATA / "live_localization"


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    loaded, faults = check_folder(FOLDER, known_tasks=("live_localization",))
    assert not faults
    return loaded


def test_the_set_is_large_and_the_files_are_small(samples: list[Sample]) -> None:
    assert len(samples) >= 800
    assert sum(path.stat().st_size for path in (FOLDER / "media").iterdir()) < 8e6
    assert {path.name for path in (FOLDER / "media").iterdir()} == {Path(s.media[0].path).name for s in samples}


def test_every_slice_value_has_at_least_200_clusters(samples: list[Sample]) -> None:
    clusters = {(item, sample.cluster) for sample in samples for item in sample.slices.items()}
    counts = Counter(item for item, _ in clusters)
    assert {attribute for attribute, _ in counts} == {"lang", "size", "instances", "category", "occlusion"}
    assert min(counts.values()) >= 200


def test_boxes_agree_with_the_slices(samples: list[Sample]) -> None:
    for sample in samples:
        boxes = sample.reference
        assert isinstance(boxes, list)
        fewest, most = INSTANCES[sample.slices["instances"]]
        assert fewest <= len(boxes) <= most
        assert ("size" in sample.slices) == ("occlusion" in sample.slices) == bool(boxes)
        for left, top, right, bottom in boxes:  # type: ignore[misc, str-unpack]
            low, high = AREAS[sample.slices["size"]]
            assert low <= (right - left) * (bottom - top) <= high


def test_the_generator_still_makes_the_set() -> None:
    record = json.loads((FOLDER / "generator.json").read_text(encoding="utf-8"))
    lines = (FOLDER / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    assert record["manifest_sha256"] == hashlib.sha256((FOLDER / "manifest.jsonl").read_bytes()).hexdigest()
    planned = list(plan_scenes(record["samples"], record["seed"]))
    assert len(planned) == len(lines)
    for index in range(0, len(planned), 130):
        sample = compose_scene(planned[index], record["side"])
        assert scene_manifest_line(planned[index], sample) == json.loads(lines[index])
        with Image.open(FOLDER / "media" / f"{planned[index].id}.webp") as stored:
            difference = np.asarray(stored.convert("RGB"), dtype=float) - np.asarray(sample.image, dtype=float)
        # WebP and another Pillow's rounding may change pixels, another picture would change them far more.
        assert np.abs(difference).mean() < 8


def test_a_box_encloses_what_can_be_seen_and_nothing_else() -> None:
    rng = random.Random(5)
    scene = Scene((320, 256))
    behind = draw_product(rng, "eval", "box", "red")
    front = draw_product(rng, "eval", "bottle", "blue")
    target = scene.place_free(rng, behind, product_picture(behind, 80), is_asked=True)
    assert target is not None
    assert target.visible_box == target.extent
    placed = scene.place_before(rng, target, front, product_picture(front, 110), (0.1, 0.6), is_asked=False)
    assert placed is not None
    assert 0.1 <= target.hidden_share <= 0.6
    left, top, right, bottom = target.visible_box or (0, 0, 0, 0)
    rows, columns = np.nonzero(target.visible)
    assert (left, right) == (target.left + columns.min(), target.left + columns.max() + 1)
    assert (top, bottom) == (target.top + rows.min(), target.top + rows.max() + 1)


def test_training_and_evaluation_share_no_form_and_no_brand() -> None:
    rng = random.Random(0)
    drawn = {
        side: [draw_product(rng, side, kind, "green") for kind in KINDS for _ in range(80)]  # type: ignore[arg-type]
        for side in ("train", "eval")
    }
    forms = {side: {(product.kind, product.form) for product in products} for side, products in drawn.items()}
    brands = {side: {product.brand for product in products} for side, products in drawn.items()}
    assert not forms["train"] & forms["eval"]
    assert not brands["train"] & brands["eval"]
    assert len(forms["eval"]) > 0.1 * FORMS


@pytest.mark.parametrize("wanted", [{"size": "huge"}, {"colour": "red"}])
def test_a_slice_that_does_not_exist_is_refused(wanted: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"huge|colour"):
        compose_localization_sample(1, "eval", wanted)
