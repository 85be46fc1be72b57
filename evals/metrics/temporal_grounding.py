"""Temporal grounding: which spans of a stream answer a query.

Every query counts, also one that has no answer in the stream (an empty reference): saying so is a hit at every
threshold, naming a span is a miss. An answer that cannot be read is never taken for "no answer".

Sources: R1@IoU and mAP follow the QVHighlights definition (Lei et al. 2021, evaluation of moment_detr); F1@IoU counts
one-to-one matches (Hungarian); SODA is Fujita et al. 2020 in its form without captions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tliveomni_eval.evals.metrics.average_precision import every_point_average_precision
from tliveomni_eval.evals.metrics.matching import greedy_matches, matched_pairs
from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.sample_score import SampleScore
from tliveomni_eval.evals.metrics.temporal_span import PredictedSpan, TimeFormat, parse_spans
from tliveomni_eval.evals.record import Counts

Span = tuple[float, float]
"""Start and end in seconds."""

IOU_THRESHOLDS = (0.3, 0.5, 0.7)
MAP_THRESHOLDS = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))
"""0.50, 0.55, … 0.95."""
MAX_RANKED_SPANS = 10
"""Spans that enter mAP, as in QVHighlights."""


def temporal_iou(first: Sequence[Span], second: Sequence[Span]) -> npt.NDArray[np.float64]:
    """Intersection over union along time.

    A reversed or zero-length span overlaps with nothing. The QVHighlights code divides zero by zero there and counts
    the resulting NaN as a match (AP 50 for one reversed span against two references); that is not followed.

    Args:
        first: N spans.
        second: M spans.

    Returns:
        Array of shape (N, M) in 0..1.
    """
    a = np.asarray(first, dtype=float).reshape(-1, 1, 2)
    b = np.asarray(second, dtype=float).reshape(1, -1, 2)
    overlap = np.minimum(a[..., 1], b[..., 1]) - np.maximum(a[..., 0], b[..., 0])
    length_a, length_b = a[..., 1] - a[..., 0], b[..., 1] - b[..., 0]
    overlap = np.where((length_a > 0) & (length_b > 0), np.maximum(overlap, 0.0), 0.0)
    union = length_a + length_b - overlap
    iou: npt.NDArray[np.float64] = np.divide(overlap, union, out=np.zeros_like(overlap), where=union > 0)
    return iou


def qvhighlights_average_precision(
    reference: Sequence[Span], predicted: Sequence[tuple[float, float, float]]
) -> npt.NDArray[np.float64]:
    """Average precision of one query at each of `MAP_THRESHOLDS`.

    The first `MAX_RANKED_SPANS` predictions as given are ranked by score (ties keep their order); each takes the
    unmatched reference it overlaps best; AP is the area under the precision envelope at every recall step.

    Args:
        reference: At least one span.
        predicted: Start, end, score.

    Returns:
        Array of shape (10,) in 0..1; zeros when nothing was predicted.
    """
    if not predicted:
        return np.zeros(len(MAP_THRESHOLDS))
    ranked = sorted(predicted[:MAX_RANKED_SPANS], key=lambda span: -span[2])
    iou = temporal_iou([(start, end) for start, end, _ in ranked], reference)
    matched = greedy_matches(iou, MAP_THRESHOLDS)
    return np.array([every_point_average_precision(row, len(reference)) for row in matched])


def soda(reference: Sequence[Span], predicted: Sequence[Span]) -> dict[str, float]:
    """Order-preserving matching of two sequences of segments (SODA with temporal IoU alone).

    Args:
        reference: Segments in order.
        predicted: Segments in the order they were stated; a right segment out of order is not matched.

    Returns:
        `precision`, `recall`, `f1` in 0..1; zeros when either side is empty.
    """
    if not reference or not predicted:
        return {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    iou = temporal_iou(reference, predicted)
    best = np.zeros((iou.shape[0] + 1, iou.shape[1] + 1))
    for i in range(iou.shape[0]):
        for j in range(iou.shape[1]):
            best[i + 1, j + 1] = max(best[i, j + 1], best[i + 1, j], best[i, j] + iou[i, j])
    total = float(best[-1, -1])
    precision, recall = total / len(predicted), total / len(reference)
    f1 = 2 * precision * recall / (precision + recall) if total else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def score_temporal_grounding(
    reference: Sequence[Span], output: str | None, *, time_format: TimeFormat = "seconds", scored: bool = False
) -> SampleScore:
    """Scores one answer.

    `r1@t` and `miou` use the first span (the one with the highest confidence where `scored`) and the reference it
    overlaps best. `f1@t` is pooled: twice the matched pairs over the predicted and the reference spans. On a query
    without answer, "no answer" counts as one item that is matched (2 of 2) or missed (0 of 1 + spans named).

    Args:
        reference: Spans in seconds; empty when the query has no answer.
        output: The model's text, None when the request failed.
        time_format: What the task declares.
        scored: True when the task asks for a confidence with each span; adds `map` (QVHighlights), in which spans
            without confidence keep the order stated.

    Returns:
        Counts for `r1@0.3`, `r1@0.5`, `r1@0.7`, `miou`, `f1@0.3`, `f1@0.5`, `f1@0.7` and, where `scored`, `map`.

    Raises:
        ValueError: A reference span is not finite, reversed or of zero length.
    """
    for start, end in reference:
        if not (math.isfinite(start) and math.isfinite(end) and start < end):
            raise ValueError(f"a reference span must have a finite start before its end, got [{start!r}, {end!r}]")
    prepared = read_output(output)
    answer = parse_spans(prepared, time_format, scored=scored)
    spans = list(answer.spans)
    status = prepared.status(answer.parsed)
    if status == "ok" and answer.incomplete:
        status = "truncated"
    detail = {
        "reference": [list(span) for span in reference],
        "predicted": [[span.start, span.end] for span in spans],
        "scores": [span.score for span in spans],
    }
    if reference:
        counts = _counts_with_answer(reference, spans, scored)
    else:
        counts = _counts_without_answer(answer.parsed and not spans, len(spans), scored)
    detail["iou"] = counts["miou"].num
    return SampleScore(counts, status, detail)


def _counts_with_answer(reference: Sequence[Span], spans: list[PredictedSpan], scored: bool) -> dict[str, Counts]:
    iou = temporal_iou([(span.start, span.end) for span in spans], reference)
    first = _first_choice(spans, scored)
    best = float(iou[first].max()) if spans else 0.0
    counts = {f"r1@{threshold}": Counts(float(best >= threshold), 1) for threshold in IOU_THRESHOLDS}
    counts["miou"] = Counts(best, 1)
    for threshold in IOU_THRESHOLDS:
        matched = matched_pairs(iou, threshold) if spans else 0
        counts[f"f1@{threshold}"] = Counts(2 * matched, len(spans) + len(reference))
    if scored:
        ranked = [(span.start, span.end, -math.inf if span.score is None else span.score) for span in spans]
        counts["map"] = Counts(float(qvhighlights_average_precision(reference, ranked).mean()), 1)
    return counts


def _counts_without_answer(right: bool, named: int, scored: bool) -> dict[str, Counts]:
    hit = Counts(float(right), 1)
    counts: dict[str, Any] = {f"r1@{threshold}": hit for threshold in IOU_THRESHOLDS}
    counts["miou"] = hit
    for threshold in IOU_THRESHOLDS:
        counts[f"f1@{threshold}"] = Counts(2, 2) if right else Counts(0, 1 + max(named, 1))
    if scored:
        counts["map"] = hit
    return counts


def _first_choice(spans: list[PredictedSpan], scored: bool) -> int:
    if not scored or all(span.score is None for span in spans):
        return 0
    return max(range(len(spans)), key=lambda i: -math.inf if spans[i].score is None else spans[i].score or 0.0)
