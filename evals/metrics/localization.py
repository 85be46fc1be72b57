"""Localization: where in an image the asked-for things are.

Coordinates are declared, never chosen by what scores best: `relative_1000` is 0–1000 in both axes (Qwen3-VL), `pixels`
is the image the reference was drawn on. References are always in pixels.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from tliveomni_eval.evals.metrics.average_precision import Box, DetectedBox, ReferenceBox
from tliveomni_eval.evals.metrics.box_parser import BoxAnswer, ParsedBox, parse_boxes
from tliveomni_eval.evals.metrics.matching import matched_pairs
from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.sample_score import SampleScore
from tliveomni_eval.evals.metrics.set_payload import DetectionPayload, category_detections
from tliveomni_eval.evals.record import Counts

CoordinateSpace = Literal["relative_1000", "pixels"]
NoScoreConvention = Literal["rank", "constant"]
"""The score of a box that states none: `rank` is 1/(1+position), so what a model names first counts as surest and no
two boxes of one answer tie; `constant` is 1.0 for all, as published results of chat models have it."""

AreaRange = Literal["all", "small", "medium", "large"]
AREA_RANGES: Mapping[AreaRange, tuple[float, float]] = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
"""COCO size ranges, pixels²; both ends belong to the range."""

F1_THRESHOLDS = (0.5, 0.75)
_NOWHERE: Box = (0.0, 0.0, 0.0, 0.0)


def to_pixels(box: Box, space: CoordinateSpace, width: float, height: float) -> Box:
    """Takes a box from the answer's coordinate space to pixels.

    Args:
        box: x1, y1, x2, y2 as the model states it.
        space: What the model profile declares.
        width: Image width, pixels.
        height: Image height, pixels.

    Returns:
        Pixels, neither rounded nor clipped.
    """
    if space == "pixels":
        return box
    x1, y1, x2, y2 = box
    return (x1 / 1000 * width, y1 / 1000 * height, x2 / 1000 * width, y2 / 1000 * height)


def box_iou(first: Sequence[Box], second: Sequence[Box]) -> npt.NDArray[np.float64]:
    """Intersection over union; a reversed or empty box overlaps with nothing.

    Args:
        first: N boxes.
        second: M boxes.

    Returns:
        Array of shape (N, M) in 0..1, with the arithmetic of pycocotools (width and height first).
    """
    iou = np.zeros((len(first), len(second)))
    others = [(x1, y1, x2 - x1, y2 - y1) for x1, y1, x2, y2 in second]
    for row, (x1, y1, x2, y2) in enumerate(first):
        width, height = x2 - x1, y2 - y1
        if width <= 0 or height <= 0:
            continue
        for column, (left, top, other_width, other_height) in enumerate(others):
            across = min(x1 + width, left + other_width) - max(x1, left)
            down = min(y1 + height, top + other_height) - max(y1, top)
            if across > 0 and down > 0 and other_width > 0 and other_height > 0:
                overlap = across * down
                iou[row, column] = overlap / (width * height + other_width * other_height - overlap)
    return iou


def detected_boxes(
    answer: BoxAnswer,
    space: CoordinateSpace,
    width: float,
    height: float,
    *,
    label_of_unlabelled: str = "",
    no_score: NoScoreConvention = "rank",
) -> list[DetectedBox]:
    """The boxes of an answer in pixels, each with a score.

    A refused box becomes an empty box: it takes part as a false positive. Stated scores are used only when every box
    states one, because a stated score and a convention cannot be ranked against each other.

    Args:
        answer: What the parser read.
        space: What the model profile declares.
        width: Image width, pixels.
        height: Image height, pixels.
        label_of_unlabelled: Category of a box that names none.
        no_score: See `NoScoreConvention`.
    """
    boxes = [*answer.boxes, *[ParsedBox(_NOWHERE)] * answer.refused]
    scored = bool(boxes) and all(box.score is not None for box in boxes)
    detections = []
    for position, parsed in enumerate(boxes):
        by_convention = 1.0 if no_score == "constant" else 1.0 / (1 + position)
        detections.append(
            DetectedBox(
                to_pixels(parsed.box, space, width, height),
                float(parsed.score or 0.0) if scored else by_convention,
                label_of_unlabelled if parsed.label is None else normalise_label(parsed.label),
            )
        )
    return detections


def normalise_label(label: str) -> str:
    """Category names compare without case, width and outer space."""
    return " ".join(unicodedata.normalize("NFKC", label).casefold().split())


def detection_payload(
    references: Sequence[ReferenceBox],
    detections: Sequence[DetectedBox],
    area_range: AreaRange = "all",
    iou: npt.NDArray[np.float64] | None = None,
) -> DetectionPayload:
    """What one image contributes to COCO AP.

    Args:
        references: The image's instances.
        detections: The model's boxes.
        area_range: COCO size range; references outside it are ignored, as are unmatched detections outside it.
        iou: IoU of each detection with each reference, shape (detections, references), where already known.
    """
    if iou is None:
        iou = box_iou([item.box for item in detections], [item.box for item in references])
    categories = {}
    labels = {item.label for item in references} | {item.label for item in detections}
    for label in sorted(labels):
        truth = [index for index, item in enumerate(references) if item.label == label]
        found = [index for index, item in enumerate(detections) if item.label == label]
        categories[label] = category_detections(
            iou[np.ix_(found, truth)] if len(labels) > 1 else iou,
            [detections[index].score for index in found],
            reference_ignored=None
            if area_range == "all"
            else [_is_outside(references[index].size, area_range) for index in truth],
            detection_outside=None
            if area_range == "all"
            else [_is_outside(detections[index].size, area_range) for index in found],
        )
    return DetectionPayload(categories)


def _is_outside(size: float, area_range: AreaRange) -> bool:
    low, high = AREA_RANGES[area_range]
    return not low <= size <= high


def score_localization(
    references: Sequence[ReferenceBox],
    output: str | None,
    *,
    space: CoordinateSpace,
    width: float,
    height: float,
    compare_labels: bool = False,
    no_score: NoScoreConvention = "rank",
) -> tuple[SampleScore, DetectionPayload]:
    """Scores one answer.

    `acc@0.5` is 1 when the surest box reaches IoU 0.5 with a reference (RefCOCO's accuracy where there is one
    reference). `miou` is the summed IoU of the best one-to-one assignment over the references. `f1@t` is pooled: twice
    the matched pairs over the predicted and the reference boxes. Where nothing is asked for (no references), the right
    answer is no box: it counts 1 of 1, for F1 as one matched item (2 of 2), and a named box as 0.

    Args:
        references: Instances in pixels; empty when the asked-for thing is not in the image.
        output: The model's text, None when the request failed.
        space: Coordinate space that the model profile declares.
        width: Image width, pixels.
        height: Image height, pixels.
        compare_labels: True for detection over several categories: a box matches only a reference of its label. False
            for one asked-for thing, where the label a model repeats says nothing.
        no_score: Score of boxes that state none.

    Returns:
        Counts for `acc@0.5`, `miou`, `f1@0.5`, `f1@0.75`, and the payload for AP.

    Raises:
        ValueError: Width or height is not above 0.
    """
    if not (width > 0 and height > 0 and math.isfinite(width) and math.isfinite(height)):
        raise ValueError(f"an image must have a width and a height above 0, got {width!r} x {height!r}")
    prepared = read_output(output)
    answer = parse_boxes(prepared)
    status = prepared.status(answer.parsed)
    if status == "ok" and answer.incomplete:
        status = "truncated"
    truth = [_relabelled(item, normalise_label(item.label) if compare_labels else "") for item in references]
    found = detected_boxes(answer, space, width, height, no_score=no_score)
    if not compare_labels:
        found = [DetectedBox(item.box, item.score) for item in found]
    iou = box_iou([item.box for item in found], [item.box for item in truth])
    if compare_labels and found and truth:
        same = np.array([[a.label == b.label for b in truth] for a in found])
        iou = np.where(same, iou, 0.0)
    counts = _counts(iou, found) if truth else _counts_of_nothing(answer.parsed and not found, len(found))
    detail: dict[str, Any] = {
        "reference": [{"box": list(item.box), "label": item.label} for item in references],
        "predicted": [{"box": list(item.box), "label": item.label, "score": item.score} for item in found],
        "iou": [float(value) for value in iou.max(axis=1)] if iou.size else [],
        "refused": answer.refused,
    }
    return SampleScore(counts, status, detail), detection_payload(truth, found, iou=iou)


def _counts(iou: npt.NDArray[np.float64], found: Sequence[DetectedBox]) -> dict[str, Counts]:
    predictions, references = iou.shape
    best = 0.0
    overlap = 0.0
    if predictions:
        surest = max(range(predictions), key=lambda index: found[index].score)
        best = float(iou[surest].max())
        rows, columns = linear_sum_assignment(iou, maximize=True)
        overlap = float(iou[rows, columns].sum())
    counts = {"acc@0.5": Counts(float(best >= 0.5), 1), "miou": Counts(overlap, references)}
    for threshold in F1_THRESHOLDS:
        counts[f"f1@{threshold}"] = Counts(2 * matched_pairs(iou, threshold), predictions + references)
    return counts


def _counts_of_nothing(right: bool, named: int) -> dict[str, Counts]:
    hit = Counts(float(right), 1)
    f1 = Counts(2, 2) if right else Counts(0, 1 + max(named, 1))
    return {"acc@0.5": hit, "miou": hit, **{f"f1@{threshold}": f1 for threshold in F1_THRESHOLDS}}


def _relabelled(reference: ReferenceBox, label: str) -> ReferenceBox:
    return ReferenceBox(reference.box, label, reference.area)
