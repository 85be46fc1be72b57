from __future__ import annotations

import contextlib
import io
import math
from typing import Any

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from tliveomni_eval.evals.metrics.average_precision import (
    COCO_STATISTICS,
    DetectedBox,
    ReferenceBox,
    coco_statistics,
    every_point_average_precision,
)
from tliveomni_eval.evals.metrics.localization import AreaRange, detection_payload
from tliveomni_eval.evals.metrics.set_payload import (
    CategoryDetections,
    DetectionPayload,
    PooledDetections,
    weighted_average_precision,
)

Image = tuple[list[ReferenceBox], list[DetectedBox]]


def random_images(rng: np.random.Generator, *, distinct_scores: bool) -> list[Image]:
    images: list[Image] = []
    for _ in range(rng.integers(1, 6)):
        references = []
        for _ in range(rng.integers(0, 5)):
            x, y, w, h = rng.integers(1, 120, 4)
            references.append(ReferenceBox((int(x), int(y), int(x + w), int(y + h)), str(rng.choice(["cup", "shoe"]))))
        detections = []
        for _ in range(rng.integers(0, 7)):
            if references and rng.random() < 0.7:
                x1, y1, x2, y2 = references[rng.integers(len(references))].box
                shift = rng.integers(-12, 13, 4)
                box = (
                    x1 + shift[0],
                    y1 + shift[1],
                    max(x1 + shift[0] + 1, x2 + shift[2]),
                    max(y1 + shift[1] + 1, y2 + shift[3]),
                )
            else:
                x, y, w, h = rng.integers(1, 120, 4)
                box = (x, y, x + w, y + h)
            score = float(rng.random()) if distinct_scores else float(rng.choice([0.2, 0.5, 0.9]))
            x1, y1, x2, y2 = (int(value) for value in box)
            detections.append(DetectedBox((x1, y1, x2, y2), score, str(rng.choice(["cup", "shoe", "hat"]))))
        images.append((references, detections))
    return images


def pycocotools_statistics(images: list[Image]) -> list[float]:
    """The plain use of pycocotools: annotations from dictionaries, detections through loadRes."""
    labels = sorted({item.label for image in images for side in image for item in side})
    rows: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for number, image in enumerate(images, start=1):
        for side, items in enumerate(image):
            for item in items:
                x1, y1, x2, y2 = item.box
                row = {
                    "image_id": number,
                    "category_id": 1 + labels.index(item.label),
                    "bbox": [x1, y1, x2 - x1, y2 - y1],
                }
                if isinstance(item, DetectedBox):
                    row["score"] = item.score
                else:
                    row |= {"id": len(rows[0]) + 1, "area": (x2 - x1) * (y2 - y1), "iscrowd": 0}
                rows[side].append(row)
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = {
            "images": [{"id": number + 1} for number in range(len(images))],
            "annotations": rows[0],
            "categories": [{"id": number + 1, "name": label} for number, label in enumerate(labels)],
            "info": {},
        }
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes(rows[1]), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return [float(value) for value in evaluation.stats]


def named(images: list[Image]) -> dict[str, Image]:
    return {f"{number:04d}": image for number, image in enumerate(images)}


def pooled_ap(images: list[Image], area_range: AreaRange = "all", weights: list[int] | None = None) -> float:
    value = weighted_average_precision([detection_payload(*image, area_range) for image in images], weights)
    return -1.0 if value is None else value


def test_500_random_sets_agree_with_pycocotools() -> None:
    rng = np.random.default_rng(11)
    compared = 0
    while compared < 500:
        images = random_images(rng, distinct_scores=compared % 2 == 0)
        if not any(references for references, _ in images) or not any(detections for _, detections in images):
            continue
        compared += 1
        expected = pycocotools_statistics(images)
        if compared <= 100:
            ours = coco_statistics(named(images))
            stated = [ours[name] for name in COCO_STATISTICS]
            assert [-1.0 if value is None else value for value in stated] == pytest.approx(expected, abs=1e-12)
        payloads = [detection_payload(*image) for image in images]
        by_threshold = PooledDetections(payloads).average_precision()[0]
        assert by_threshold.mean() == pytest.approx(expected[0], abs=1e-12)
        assert by_threshold[0] == pytest.approx(expected[1], abs=1e-12)
        assert by_threshold[5] == pytest.approx(expected[2], abs=1e-12)
        areas: list[AreaRange] = ["small", "medium", "large"]
        for area_range, value in zip(areas, expected[3:6], strict=True):
            assert pooled_ap(images, area_range) == pytest.approx(value, abs=1e-12)


def test_whole_weights_equal_repeated_images() -> None:
    rng = np.random.default_rng(5)
    compared = 0
    while compared < 100:
        images = random_images(rng, distinct_scores=True)
        weights = [int(weight) for weight in rng.integers(0, 4, len(images))]
        repeated = [image for image, weight in zip(images, weights, strict=True) for _ in range(weight)]
        if not any(references for references, _ in repeated) or not any(found for _, found in repeated):
            continue
        compared += 1
        assert pooled_ap(images, weights=weights) == pytest.approx(pycocotools_statistics(repeated)[0], abs=1e-12)


def test_many_replicates_equal_one_at_a_time() -> None:
    rng = np.random.default_rng(6)
    images = [image for _ in range(30) for image in random_images(rng, distinct_scores=True)]
    pool = PooledDetections([detection_payload(*image) for image in images])
    weights = rng.integers(0, 3, (150, len(images)))
    together = pool.average_precision(weights)
    assert together.shape == (150, 10)
    for row in (0, 63, 64, 149):
        np.testing.assert_allclose(together[row], pool.average_precision(weights[row])[0])


def test_nothing_to_find_has_no_average_precision() -> None:
    only_found: Image = ([], [DetectedBox((0, 0, 5, 5), 1.0)])
    assert set(coco_statistics({"a": only_found}).values()) == {None}
    assert weighted_average_precision([detection_payload(*only_found)]) is None
    assert weighted_average_precision([]) is None
    one: Image = ([ReferenceBox((0, 0, 5, 5))], [DetectedBox((0, 0, 5, 5), 1.0)])
    replicates = PooledDetections([detection_payload(*one)]).average_precision([[0], [1]])
    assert np.isnan(replicates[0]).all()
    assert (replicates[1] == 1).all()


def test_no_detection_at_all_gives_zero() -> None:
    images = {"a": ([ReferenceBox((0, 0, 50, 50))], [])}
    assert coco_statistics(images)["ap"] == 0.0
    assert coco_statistics(images)["ar_max100"] == 0.0
    assert pooled_ap([([ReferenceBox((0, 0, 50, 50))], [])]) == 0.0


def test_the_first_annotation_can_be_matched() -> None:
    images: dict[str, Image] = {"a": ([ReferenceBox((0, 0, 50, 50))], [DetectedBox((0, 0, 50, 50), 0.3)])}
    assert coco_statistics(images)["ap"] == pytest.approx(1.0)


def test_the_stated_area_decides_the_size_range() -> None:
    statistics = coco_statistics({"a": ([ReferenceBox((0, 0, 99, 99), area=0)], [DetectedBox((0, 0, 99, 99), 1.0)])})
    assert statistics["ap_small"] == pytest.approx(1.0)
    assert statistics["ap_large"] is None


def test_a_reversed_box_is_a_false_positive() -> None:
    reference = ReferenceBox((0, 0, 50, 50))
    images: list[Image] = [([reference], [DetectedBox((50, 50, 0, 0), 0.9), DetectedBox((0, 0, 50, 50), 0.5)])]
    assert coco_statistics(named(images))["ap"] == pytest.approx(0.5, abs=0.01)
    assert pooled_ap(images) == pytest.approx(coco_statistics(named(images))["ap"])


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_boxes_that_are_not_finite_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        DetectedBox((value, 0, 1, 1), 1.0)
    with pytest.raises(ValueError, match="finite"):
        DetectedBox((0, 0, 1, 1), value)
    with pytest.raises(ValueError, match="finite"):
        ReferenceBox((0, 0, 1, value))


@pytest.mark.parametrize("box", [(5, 5, 5, 9), (9, 9, 1, 1)])
def test_a_degenerate_reference_is_refused(box: tuple[float, float, float, float]) -> None:
    with pytest.raises(ValueError, match="x1 < x2"):
        ReferenceBox(box)


def activitynet_by_definition(
    truth: list[tuple[str, float, float]], found: list[tuple[str, float, float, float]], t: float
) -> float:
    """The definition, written out: rank over all videos, take the best free reference, area at every recall step."""
    taken: set[int] = set()
    hits = []
    for video, start, end, _ in sorted(found, key=lambda item: -item[3]):
        overlaps = {}
        for index, (other, low, high) in enumerate(truth):
            common = max(0.0, min(end, high) - max(start, low))
            overlap = common / (end - start + high - low - common)
            if other == video and index not in taken and overlap >= t:
                overlaps[index] = overlap
        if overlaps:
            taken.add(max(overlaps, key=overlaps.__getitem__))
        hits.append(bool(overlaps))
    return every_point_average_precision(np.array(hits, dtype=bool), len(truth))


def test_every_point_pool_equals_the_activitynet_definition_on_500_random_sets() -> None:
    from tliveomni_eval.evals.metrics.set_payload import category_detections
    from tliveomni_eval.evals.metrics.temporal_grounding import temporal_iou

    rng = np.random.default_rng(21)
    for _ in range(500):
        truth, found, payloads = [], [], []
        for video in "abc":
            starts = rng.uniform(0, 90, rng.integers(1, 4))
            references = [
                (start, start + length) for start, length in zip(starts, rng.uniform(1, 40, len(starts)), strict=True)
            ]
            spans = [
                (s + rng.normal(0, 3), e + rng.uniform(0, 9) + 9)
                for s, e in references
                for _ in range(rng.integers(0, 3))
            ]
            scores = [float(score) for score in rng.random(len(spans))]
            truth += [(video, *span) for span in references]
            found += [(video, *span, score) for span, score in zip(spans, scores, strict=True)]
            item = category_detections(temporal_iou(spans, references), scores)
            payloads.append(DetectionPayload({"": item}))
        computed = PooledDetections(payloads, "every_point").average_precision()[0]
        for level in (0, 4, 9):
            expected = activitynet_by_definition(truth, found, 0.5 + 0.05 * level)
            assert computed[level] == pytest.approx(expected, abs=1e-12)


def test_payloads_survive_the_log() -> None:
    payload = detection_payload(
        [ReferenceBox((0, 0, 50, 50), "cup")],
        [DetectedBox((0, 0, 40, 50), 0.5, "cup"), DetectedBox((0, 0, 9, 9), 0.4, "hat")],
    )
    logged = payload.logged("s1")
    assert logged["id"] == "s1"
    assert DetectionPayload.from_logged(logged) == payload
    with pytest.raises(ValueError, match="all_right"):
        DetectionPayload.from_logged(logged | {"kind": "all_right"})


def test_what_does_not_fit_together_is_refused() -> None:
    item = CategoryDetections((), (), (), 1)
    with pytest.raises(ValueError, match=r"\[3, 10\]"):
        PooledDetections([DetectionPayload({"": item}), DetectionPayload({"": item}, 3)])
    pool = PooledDetections([DetectionPayload({"": item})])
    with pytest.raises(ValueError, match="2 weights for 1 samples"):
        pool.average_precision([1, 1])
    with pytest.raises(ValueError, match="at least 0"):
        pool.average_precision([-1])
