"""Metrics that are no sum over samples: average precision, and groups that count as one trial."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.task_log import MetricColumn, TaskLog
from tliveomni_eval.evals.metrics.group_payload import PAYLOAD_KIND as GROUP_KIND
from tliveomni_eval.evals.metrics.group_payload import GroupPayload
from tliveomni_eval.evals.statistics.paired_slices import FloatArray, SetMetricPair

if TYPE_CHECKING:
    from tliveomni_eval.evals.gate.pairing import PairedTask
    from tliveomni_eval.evals.metrics.set_payload import PooledDetections

_NO_DETECTIONS = {"kind": "average_precision", "categories": {}}


class DetectionQuality:
    """Average precision of pooled detections under any weights of the samples."""

    def __init__(self, pool: PooledDetections) -> None:
        self._pool = pool

    def weighted(self, weights: FloatArray) -> float:
        """AP, mean over the IoU thresholds, 0..1; NaN where no reference has a weight."""
        return float(self._pool.average_precision(weights)[0].mean())

    def influence(self, weights: FloatArray) -> FloatArray:
        """The derivative of AP in each weight, shape (samples,)."""
        return self._pool.influence(weights)


def is_group_metric(column: MetricColumn, log: TaskLog) -> bool:
    """Whether a metric's payloads are groups that count as one trial.

    Raises:
        LogError: If the payloads are of several kinds or of one that is not known.
    """
    kinds = {payload["kind"] for payload in column.payloads or () if payload is not None}
    if not kinds <= {GROUP_KIND} and not kinds <= {"average_precision"}:
        raise LogError(
            f"metric payloads of kind {', '.join(map(repr, sorted(map(str, kinds))))} are not known", log.path
        )
    return kinds == {GROUP_KIND}


def group_counts(
    column: MetricColumn, positions: NDArray[np.intp], clusters: NDArray[np.int32], log: TaskLog
) -> MetricColumn:
    """A group metric as a ratio: one trial a group, on its first sample, a hit where every member is right.

    Args:
        column: Payloads of the paired samples.
        positions: Their positions in `log`.
        clusters: Their clusters.
        log: The log, for messages.

    Raises:
        LogError: If a group lacks a member, has one twice, spans clusters, or a payload is not readable.
    """
    groups: dict[tuple[int, str], list[tuple[int, GroupPayload]]] = defaultdict(list)
    for index, payload in enumerate(column.payloads or ()):
        if payload is not None:
            member = _read_group_payload(payload, log, int(positions[index]))
            groups[int(clusters[index]), member.group].append((index, member))
    num, den = np.zeros(len(positions)), np.zeros(len(positions))
    for (_, name), members in groups.items():
        first, payload = members[0]
        distinct = {member.member for _, member in members}
        if len(distinct) != len(members) or payload.members not in (None, len(members)):
            raise LogError(
                f"group {name!r} has {len(distinct)} distinct members on {len(members)} lines, not {payload.members}",
                log.path,
                int(log.line_numbers[positions[first]]),
            )
        num[first], den[first] = float(all(member.hit for _, member in members)), 1.0
    return replace(column, num=num, den=den, payloads=None)


def set_metric_pair(baseline: MetricColumn, candidate: MetricColumn, pair: PairedTask) -> SetMetricPair:
    """Average precision of both runs, over the same samples.

    Raises:
        LogError: If a payload is not readable.
    """
    return SetMetricPair(
        _detection_quality(baseline, pair.baseline_positions, pair.baseline),
        _detection_quality(candidate, pair.candidate_positions, pair.candidate),
    )


def _detection_quality(column: MetricColumn, positions: NDArray[np.intp], log: TaskLog) -> DetectionQuality:
    from tliveomni_eval.evals.metrics.set_payload import DetectionPayload, PooledDetections

    thresholds = next((payload.get("thresholds") for payload in column.payloads or () if payload is not None), 1)
    payloads = []
    for index, payload in enumerate(column.payloads or ()):
        logged = payload if payload is not None else {**_NO_DETECTIONS, "thresholds": thresholds}
        try:
            payloads.append(DetectionPayload.from_logged(logged))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _unreadable(log, int(positions[index]), error) from error
    try:
        return DetectionQuality(PooledDetections(payloads))
    except (ValueError, TypeError, OverflowError) as error:
        raise LogError(f"detections cannot be ranked: {error}", log.path) from error


def _read_group_payload(payload: Any, log: TaskLog, position: int) -> GroupPayload:
    try:
        return GroupPayload.from_logged(payload)
    except (ValueError, KeyError, TypeError) as error:
        raise _unreadable(log, position, error) from error


def _unreadable(log: TaskLog, position: int, error: Exception) -> LogError:
    reason = f"metric payload cannot be read: {type(error).__name__} {error}"
    return LogError(reason, log.path, int(log.line_numbers[position]))
