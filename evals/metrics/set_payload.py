"""Average precision on any weighted subset of samples, from what each sample logged.

AP is no sum over samples: a detection's precision depends on all detections ranked above it. So a sample logs, for each
category, the scores of its detections and at which thresholds each is a true positive. Matching is settled inside one
sample, hence AP on a slice, on a task or on a bootstrap replicate needs only ranking and cumulative sums over the
payloads, in which a sample drawn m times counts m times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from tliveomni_eval.evals.metrics.average_precision import COCO_IOU_THRESHOLDS, COCO_RECALLS
from tliveomni_eval.evals.metrics.matching import greedy_assignment
from tliveomni_eval.evals.statistics.average_precision_influence import average_precision_influence

PAYLOAD_KIND = "average_precision"
Interpolation = Literal["coco", "every_point"]
"""`coco` reads the precision envelope at 101 recalls; `every_point` at every recall step (VOC 2010, ActivityNet)."""

_REPLICATES_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class CategoryDetections:
    """The detections of one category in one sample, best first.

    Attributes:
        scores: Falling.
        matched: Bit t is set when the detection is a true positive at IoU threshold t.
        ignored: Bit t is set when the detection is neither true nor false positive at t (COCO area ranges).
        references: References that count.
    """

    scores: tuple[float, ...]
    matched: tuple[int, ...]
    ignored: tuple[int, ...]
    references: int


@dataclass(frozen=True, slots=True)
class DetectionPayload:
    """What one sample contributes to AP.

    Attributes:
        categories: Category to its detections; a category with neither reference nor detection is left out.
        thresholds: Number of IoU thresholds, so many bits each detection has.
    """

    categories: Mapping[str, CategoryDetections]
    thresholds: int = len(COCO_IOU_THRESHOLDS)

    def logged(self, sample_id: str) -> dict[str, Any]:
        """The JSON object that `process_results` returns to lmms-eval for an AP metric."""
        return {
            "id": sample_id,
            "kind": PAYLOAD_KIND,
            "thresholds": self.thresholds,
            "categories": {
                name: {
                    "scores": list(item.scores),
                    "matched": list(item.matched),
                    "ignored": list(item.ignored),
                    "references": item.references,
                }
                for name, item in self.categories.items()
            },
        }

    @classmethod
    def from_logged(cls, logged: Mapping[str, Any]) -> DetectionPayload:
        """Reads what `logged` wrote.

        Raises:
            ValueError: The object is no AP payload.
        """
        if logged.get("kind") != PAYLOAD_KIND:
            raise ValueError(f"expected a payload of kind {PAYLOAD_KIND!r}, got {logged.get('kind')!r}")
        categories = {
            name: CategoryDetections(
                tuple(item["scores"]), tuple(item["matched"]), tuple(item["ignored"]), int(item["references"])
            )
            for name, item in logged["categories"].items()
        }
        return cls(categories, int(logged["thresholds"]))


def category_detections(
    iou: npt.NDArray[np.float64],
    scores: Sequence[float],
    *,
    thresholds: Sequence[float] = COCO_IOU_THRESHOLDS,
    max_detections: int = 100,
    reference_ignored: Sequence[bool] | None = None,
    detection_outside: Sequence[bool] | None = None,
) -> CategoryDetections:
    """Ranks and matches the detections of one category in one sample.

    Args:
        iou: Shape (detections as given, references).
        scores: One a detection; ties keep their order.
        thresholds: IoU thresholds.
        max_detections: Detections that count, best first.
        reference_ignored: References outside the area range.
        detection_outside: Detections outside the area range; unmatched ones are then ignored.

    Returns:
        The contribution to AP.
    """
    order = sorted(range(len(scores)), key=lambda index: -scores[index])[:max_detections]
    ignored = None if reference_ignored is None else np.asarray(reference_ignored, dtype=bool)
    assigned = greedy_assignment(iou[order], thresholds, ignored)
    is_matched = assigned >= 0
    is_ignored = np.zeros_like(is_matched)
    if ignored is not None and ignored.size:
        is_ignored |= is_matched & ignored[assigned]
    if detection_outside is not None and order:
        is_ignored |= ~is_matched & np.asarray(detection_outside, dtype=bool)[order]
    bits = 1 << np.arange(len(thresholds))
    return CategoryDetections(
        scores=tuple(float(scores[index]) for index in order),
        matched=tuple((bits @ (is_matched & ~is_ignored)).tolist()),
        ignored=tuple((bits @ is_ignored).tolist()),
        references=iou.shape[1] if ignored is None else int((~ignored).sum()),
    )


class PooledDetections:
    """Payloads of many samples, ranked once, from which AP under any weights follows by cumulative sums.

    Equal to pycocotools for unit weights, and to pycocotools on the repeated samples for whole weights, as long as no
    two detections of one sample and category tie in score (ties between samples rank by sample order).
    """

    def __init__(self, payloads: Sequence[DetectionPayload], interpolation: Interpolation = "coco") -> None:
        """Ranks the detections of every category.

        Args:
            payloads: One a sample, in the order that breaks ties; all with the same number of thresholds.
            interpolation: How the area under the precision-recall curve is taken.

        Raises:
            ValueError: The payloads differ in their number of thresholds.
        """
        sizes = {payload.thresholds for payload in payloads}
        if len(sizes) > 1:
            raise ValueError(f"payloads with different numbers of IoU thresholds cannot be pooled: {sorted(sizes)}")
        self.samples = len(payloads)
        self.thresholds = sizes.pop() if sizes else 0
        self.interpolation = interpolation
        names = sorted({name for payload in payloads for name in payload.categories})
        self._categories = [_PooledCategory(payloads, name, self.thresholds) for name in names]

    def average_precision(self, weights: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
        """AP for each row of weights.

        Args:
            weights: Shape (replicates, samples) or (samples,): how often each sample counts; None is once each.
                A sample's weight is the multiplicity of its cluster.

        Returns:
            Shape (replicates, thresholds): the mean over the categories that have a reference in the replicate; NaN
            in a replicate without any reference.

        Raises:
            ValueError: The weights do not fit the samples, or one is negative.
        """
        table = np.ones((1, self.samples)) if weights is None else np.atleast_2d(np.asarray(weights, dtype=float))
        if table.shape[1] != self.samples:
            raise ValueError(f"{table.shape[1]} weights for {self.samples} samples")
        if (table < 0).any():
            raise ValueError(f"weights must be at least 0, got {table.min()!r}")
        total = np.zeros((len(table), self.thresholds))
        present = np.zeros((len(table), 1))
        for category in self._categories:
            references = table @ category.references
            has_reference = references > 0
            for start in range(0, len(table), _REPLICATES_AT_ONCE):
                rows = np.flatnonzero(has_reference[start : start + _REPLICATES_AT_ONCE]) + start
                if rows.size:
                    total[rows] += category.average_precision(table[rows], references[rows], self.interpolation)
            present += has_reference[:, None]
        return np.divide(total, present, out=np.full_like(total, np.nan), where=present > 0)

    def influence(self, weights: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """How much each sample moves AP: the derivative of its mean over the thresholds in each sample's weight.

        Taken of the area under the envelope at every recall step, of which the 101 recalls of COCO are a grid.

        Args:
            weights: Shape (samples,), ≥ 0.

        Returns:
            Shape (samples,); 0 where no category has a reference.
        """
        weight = np.asarray(weights, dtype=float)
        total = np.zeros(self.samples)
        present = [category for category in self._categories if category.references @ weight > 0]
        for category in present:
            total += category.influence(weight)
        return total / max(1, len(present) * self.thresholds)


class _PooledCategory:
    def __init__(self, payloads: Sequence[DetectionPayload], name: str, thresholds: int) -> None:
        self.references = np.zeros(len(payloads))
        scores: list[float] = []
        matched: list[int] = []
        ignored: list[int] = []
        sample: list[int] = []
        for index, payload in enumerate(payloads):
            item = payload.categories.get(name)
            if item is None:
                continue
            self.references[index] = item.references
            scores.extend(item.scores)
            matched.extend(item.matched)
            ignored.extend(item.ignored)
            sample.extend([index] * len(item.scores))
        order = np.argsort(-np.asarray(scores, dtype=float), kind="stable")
        bit = np.arange(thresholds)[:, None]
        matched_bits = (np.asarray(matched, dtype=np.int64)[order][None, :] >> bit) & 1
        ignored_bits = (np.asarray(ignored, dtype=np.int64)[order][None, :] >> bit) & 1
        self._sample = np.asarray(sample, dtype=np.int64)[order]
        self._counted = ~ignored_bits.astype(bool)
        self._true = [np.flatnonzero(row) for row in matched_bits & ~ignored_bits]

    def influence(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Shape (samples,): the derivative of AP in each weight, summed over the thresholds."""
        total = np.zeros(len(weights))
        for true, counted in zip(self._true, self._counted, strict=True):
            matched = np.zeros(len(self._sample), dtype=bool)
            matched[true] = True
            ranked = (matched[counted], self._sample[counted])
            total += average_precision_influence(*ranked, self.references, weights)[1]
        return total

    def average_precision(
        self, weights: npt.NDArray[np.float64], references: npt.NDArray[np.float64], interpolation: Interpolation
    ) -> npt.NDArray[np.float64]:
        """Shape (replicates, thresholds); `references` is the weighted number of references, above 0.

        Precision is needed at true positives only: between them it falls, so the envelope takes its values there.
        """
        result = np.zeros((len(weights), len(self._true)))
        detection_weights = weights[:, self._sample]
        all_sum = np.cumsum(detection_weights, axis=1)
        for level, (true, counted) in enumerate(zip(self._true, self._counted, strict=True)):
            if true.size == 0:
                continue
            counted_sum = all_sum if counted.all() else np.cumsum(detection_weights * counted, axis=1)
            true_weights = detection_weights[:, true]
            true_sum = np.cumsum(true_weights, axis=1)
            ranked = counted_sum[:, true]
            precision = np.divide(true_sum, ranked, out=np.zeros_like(true_sum), where=ranked > 0)
            envelope = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
            if interpolation == "every_point":
                result[:, level] = (true_weights * envelope).sum(axis=1) / references
                continue
            recall = true_sum / references[:, None]
            for row in range(len(weights)):
                at = np.searchsorted(recall[row], COCO_RECALLS, side="left")
                result[row, level] = envelope[row, at[at < true.size]].sum() / COCO_RECALLS.size
        return result


def weighted_average_precision(
    payloads: Sequence[DetectionPayload],
    weights: npt.ArrayLike | None = None,
    interpolation: Interpolation = "coco",
) -> float | None:
    """AP over all thresholds for one set of weights; see `PooledDetections` for many.

    Returns:
        AP in 0..1, or None where no reference has a weight.
    """
    if not payloads:
        return None
    value = float(PooledDetections(payloads, interpolation).average_precision(weights)[0].mean())
    return None if np.isnan(value) else value
