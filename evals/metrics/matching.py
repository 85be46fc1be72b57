"""One-to-one matching of predictions and references: greedy by rank, as AP needs it, and the largest possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment


def greedy_assignment(
    iou: npt.NDArray[np.float64],
    thresholds: Sequence[float],
    reference_ignored: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.int64]:
    """Gives each prediction, best first, the free reference that it overlaps best (COCO, ActivityNet, QVHighlights).

    Among references of equal IoU the later one is taken, as in pycocotools. A reference that is ignored (outside an
    area range) is taken only when no counted one reaches the threshold.

    Args:
        iou: Shape (predictions by rank, references).
        thresholds: T values in 0..1; a pair needs IoU ≥ threshold.
        reference_ignored: Shape (references,); None when all count.

    Returns:
        Index of the reference for each threshold and prediction, shape (T, predictions); -1 where there is none.
    """
    predictions, references = iou.shape
    assigned = np.full((len(thresholds), predictions), -1, dtype=np.int64)
    if predictions == 0 or references == 0:
        return assigned
    ignored = [False] * references if reference_ignored is None else [bool(flag) for flag in reference_ignored]
    rows: list[list[float]] = iou.tolist()
    preference = [_by_preference(row, ignored) for row in rows]
    for level, threshold in enumerate(thresholds):
        limit = min(threshold, 1 - 1e-10)
        free = [True] * references
        for rank, candidates in enumerate(preference):
            row = rows[rank]
            choice = next((j for j in candidates if free[j] and row[j] >= limit), -1)
            if choice >= 0:
                free[choice] = False
                assigned[level, rank] = choice
    return assigned


def _by_preference(row: list[float], ignored: list[bool]) -> list[int]:
    overlapping = (j for j, value in enumerate(row) if value > 0)
    return sorted(overlapping, key=lambda j: (not ignored[j], row[j], j), reverse=True)


def greedy_matches(iou: npt.NDArray[np.float64], thresholds: Sequence[float]) -> npt.NDArray[np.bool_]:
    """Which predictions are true positives, shape (T, predictions); see `greedy_assignment`."""
    matched: npt.NDArray[np.bool_] = greedy_assignment(iou, thresholds) >= 0
    return matched


def matched_pairs(iou: npt.NDArray[np.float64], threshold: float) -> int:
    """The largest number of one-to-one pairs whose IoU reaches the threshold (Hungarian matching).

    Args:
        iou: Shape (predictions, references).
        threshold: In 0..1, above 0.
    """
    reached = iou >= threshold
    if min(reached.shape) <= 1:
        return int(reached.any())
    rows, columns = linear_sum_assignment(reached, maximize=True)
    return int(reached[rows, columns].sum())
