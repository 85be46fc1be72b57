"""One logged metric value turned into counts, or into the reason why it cannot be counted."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

from tliveomni_eval.evals.logs.log_error import LogError


class SampleCounts(NamedTuple):
    """Counts of one metric on one sample.

    Attributes:
        num: Numerator, finite and ≥ 0.
        den: Denominator, finite and ≥ 0.
        payload: What a set metric (AP) or a group metric (CircularEval) logged; None for a ratio metric.
    """

    num: float
    den: float
    payload: Any = None


def declared_counts(name: str, value: Any, sample_id: str, path: Path, line: int) -> SampleCounts | None:
    """Counts that one of our tasks logged: `{"id", "num", "den"}`, or `{"id", "kind", …}` for a set or group metric.

    Args:
        name: Metric name.
        value: What the log holds under that name.
        sample_id: Id of the sample's record; the metric must carry the same.
        path: The log, for the message.
        line: The line, for the message.

    Returns:
        The counts; None where the value is not a metric.

    Raises:
        LogError: If the value is meant to be a metric but its numbers cannot be counted.
    """
    if not isinstance(value, dict):
        return None
    is_ratio = "num" in value or "den" in value
    if not is_ratio and "kind" not in value:
        return None
    if "id" in value and value["id"] != sample_id:
        raise LogError(f"metric {name!r} belongs to sample {value['id']!r}, the record to {sample_id!r}", path, line)
    if not is_ratio:
        return SampleCounts(0.0, 0.0, value)
    return SampleCounts(
        _count(f"{name}.num", value.get("num"), path, line), _count(f"{name}.den", value.get("den"), path, line)
    )


def scalar_counts(name: str, value: Any, path: Path, line: int) -> SampleCounts:
    """Counts of a scalar metric of a task that is not ours: `num` is the value, `den` is 1.

    Args:
        name: Metric name.
        value: A number or truth value, or an object with a number under `score` (several tasks of lmms-eval).
        path: The log, for the message.
        line: The line, for the message.

    Raises:
        LogError: If the value is not one finite number ≥ 0.
    """
    if isinstance(value, dict) and "score" in value:
        value = value["score"]
    return SampleCounts(_count(name, value, path, line), 1.0)


def _count(name: str, value: Any, path: Path, line: int) -> float:
    if not isinstance(value, int | float):
        raise LogError(f"{name} must be a number, got {str(value)[:60]!r}", path, line)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise LogError(f"{name} must be finite, got {number}", path, line)
    if number < 0:
        raise LogError(f"{name} must be at least 0, got {number:g}", path, line)
    return number
