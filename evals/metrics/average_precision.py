"""Average precision of a whole set: through pycocotools, with its traps closed, and by the every-point rule.

For intervals over slices use `tliveomni_eval.evals.metrics.set_payload`, which gives the same AP from logged payloads.
"""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

Box = tuple[float, float, float, float]
"""x1, y1, x2, y2 in pixels."""

COCO_IOU_THRESHOLDS = tuple(float(value) for value in np.linspace(0.5, 0.95, 10))
"""0.50, 0.55, … 0.95, bit for bit as pycocotools has them."""

COCO_RECALLS = np.linspace(0.0, 1.0, 101)
"""The 101 recalls at which COCO reads the precision envelope."""

COCO_STATISTICS = (
    "ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large",
    "ar_max1", "ar_max10", "ar_max100", "ar_small", "ar_medium", "ar_large",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReferenceBox:
    """One instance that is in the image.

    Attributes:
        box: x1 < x2 and y1 < y2, pixels.
        label: Category; the empty string where a task has none.
        area: Pixels² for the COCO size ranges; None takes the box's.
    """

    box: Box
    label: str = ""
    area: float | None = None

    def __post_init__(self) -> None:
        x1, y1, x2, y2 = self.box
        if not (all(math.isfinite(value) for value in self.box) and x1 < x2 and y1 < y2):
            raise ValueError(f"a reference box must be finite with x1 < x2 and y1 < y2, got {self.box!r}")

    @property
    def size(self) -> float:
        """The area that decides the COCO size range, pixels²."""
        x1, y1, x2, y2 = self.box
        return (x2 - x1) * (y2 - y1) if self.area is None else self.area


@dataclass(frozen=True, slots=True)
class DetectedBox:
    """One box that a model names.

    Attributes:
        box: Pixels; a box that is reversed or empty is a false positive.
        score: Higher is surer.
        label: Category.
    """

    box: Box
    score: float
    label: str = ""

    def __post_init__(self) -> None:
        if not all(math.isfinite(value) for value in (*self.box, self.score)):
            raise ValueError(f"a detected box and its score must be finite, got {self.box!r} score {self.score!r}")

    @property
    def is_degenerate(self) -> bool:
        """True when the box encloses nothing."""
        x1, y1, x2, y2 = self.box
        return not (x1 < x2 and y1 < y2)

    @property
    def size(self) -> float:
        """Area, pixels²; 0 for a degenerate box."""
        x1, y1, x2, y2 = self.box
        return 0.0 if self.is_degenerate else (x2 - x1) * (y2 - y1)


def every_point_average_precision(matched: npt.NDArray[np.bool_], references: int) -> float:
    """Area under the precision envelope at every recall step (PASCAL VOC 2010 on, ActivityNet, QVHighlights).

    Args:
        matched: Whether each prediction is a true positive, in order of falling score.
        references: Number of references, at least 1.

    Returns:
        AP in 0..1.
    """
    if matched.size == 0 or references == 0:
        return 0.0
    precision = np.cumsum(matched) / np.arange(1, matched.size + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    return float(envelope[matched].sum() / references)


def coco_statistics(
    images: Mapping[str, tuple[Sequence[ReferenceBox], Sequence[DetectedBox]]],
) -> dict[str, float | None]:
    """The twelve COCO numbers, computed by pycocotools.

    The traps closed: annotation ids start at 1 (with id 0 a perfect detection is silently scored 0); boxes go in as
    x, y, width, height; NaN is refused when the box is made (pycocotools counts a NaN box as a match); no detection at
    all gives 0 instead of an IndexError; a number without a reference is None instead of -1. Up to 100 detections
    an image and category count.

    Args:
        images: Image id to its references and detections. Ties in score are ranked by this order.

    Returns:
        `ap`, `ap50`, `ap75`, `ap_small`, `ap_medium`, `ap_large`, `ar_max1`, `ar_max10`, `ar_max100`, `ar_small`,
        `ar_medium`, `ar_large`, each in 0..1 or None.
    """
    labels = sorted({item.label for pair in images.values() for side in pair for item in side})
    category = {label: number for number, label in enumerate(labels, start=1)}
    reference_rows: list[dict[str, Any]] = []
    detection_rows: list[dict[str, Any]] = []
    for image_id, (references, detections) in enumerate(images.values(), start=1):
        for reference in references:
            row = _coco_row(reference.box, image_id, category[reference.label], len(reference_rows) + 1)
            reference_rows.append({**row, "area": reference.size})
        for detection in detections:
            row = _coco_row(_enclosing(detection), image_id, category[detection.label], len(detection_rows) + 1)
            detection_rows.append({**row, "score": detection.score})
    if not reference_rows:
        return dict.fromkeys(COCO_STATISTICS)
    header = {
        "images": [{"id": image_id} for image_id in range(1, len(images) + 1)],
        "categories": [{"id": number, "name": label} for label, number in category.items()],
    }
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation = COCOeval(_coco(header, reference_rows), _coco(header, detection_rows), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return {
        name: None if value < 0 else float(value) for name, value in zip(COCO_STATISTICS, evaluation.stats, strict=True)
    }


def _coco(header: Mapping[str, Any], annotations: list[dict[str, Any]]) -> Any:
    dataset = COCO()
    dataset.dataset = {**header, "annotations": annotations}
    dataset.createIndex()
    return dataset


def _coco_row(box: Box, image_id: int, category_id: int, annotation_id: int) -> dict[str, Any]:
    x1, y1, x2, y2 = box
    width, height = x2 - x1, y2 - y1
    return {
        "id": annotation_id,
        "image_id": image_id,
        "category_id": category_id,
        "bbox": [x1, y1, width, height],
        "area": width * height,
        "iscrowd": 0,
    }


def _enclosing(detection: DetectedBox) -> Box:
    """A degenerate box as an empty one: with a negative side pycocotools would compute a meaningless overlap."""
    if not detection.is_degenerate:
        return detection.box
    x1, y1, _, _ = detection.box
    return (x1, y1, x1, y1)
