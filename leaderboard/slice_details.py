"""What a slice shows beyond its cell in the matrix: outcomes, status changes, confusions, where the damage sits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.record import Status
from tliveomni_eval.leaderboard.output_reading import OutputReading
from tliveomni_eval.leaderboard.paired_samples import BoolArray, PairedSamples
from tliveomni_eval.leaderboard.slice_data import (
    Concentration,
    Histogram,
    HotwordRow,
    MetricPair,
    SliceDetail,
    StatusChange,
)
from tliveomni_eval.leaderboard.text_alignment import rank_confusions

_MOST_CONCENTRATIONS = 8
_FEWEST_SAMPLES = 5
_MOST_HOTWORDS = 24
_BINS = 20
_IOU = "miou"
_SMALLEST_OFFSET_RANGE_S = 0.5

Readings = Sequence[OutputReading | None]
"""What one run answered to each sample; None where it lacks the sample."""


def slice_detail(
    paired: PairedSamples,
    slice_index: int | None,
    candidate: int,
    readings: Sequence[Readings],
) -> SliceDetail:
    """Details of one slice for one candidate.

    Args:
        paired: The task.
        slice_index: Index into `paired.slices`; None for the whole task.
        candidate: The candidate, from 0.
        readings: For each run its answers, baseline first.
    """
    chosen = paired.in_both(candidate)
    if slice_index is not None:
        chosen = chosen & paired.members[slice_index]
    change = paired.change(candidate)
    same = chosen & (change == 0)
    right = paired.quality(0) >= 1
    indices: list[int] = np.flatnonzero(chosen).tolist()
    before = [reading for index in indices if (reading := readings[0][index]) is not None]
    after = [reading for index in indices if (reading := readings[candidate + 1][index]) is not None]
    return SliceDetail(
        slice=slice_index,
        candidate=candidate,
        both_right=int((same & right).sum()),
        both_wrong=int((same & ~right).sum()),
        metrics=[
            MetricPair(
                metric=name,
                baseline=paired.pooled_rate(0, index, chosen),
                candidate=paired.pooled_rate(candidate + 1, index, chosen),
                higher_is_better=paired.higher_is_better[index],
            )
            for index, name in enumerate(paired.metrics)
        ],
        status_changes=_status_changes(before, after),
        confusions=rank_confusions((one.confusions for one in before), (one.confusions for one in after)),
        choices=rank_confusions((_misread(one) for one in before), (_misread(one) for one in after)),
        concentration=_concentration(paired, slice_index, candidate, chosen),
        histograms=[*_quality_histograms(paired, candidate, chosen), *_offset_histograms(before, after)],
        hotwords=_hotwords(before, after),
    )


def relative_loss(baseline: float | None, candidate: float | None, higher_is_better: bool) -> float | None:
    """(Q_b − Q_c) / Q_b of two rates; None where it is undefined."""
    if baseline is None or candidate is None:
        return None
    q_baseline, q_candidate = (baseline, candidate) if higher_is_better else (1 - baseline, 1 - candidate)
    return (q_baseline - q_candidate) / q_baseline if q_baseline > 0 else None


def _status_changes(baseline: Sequence[OutputReading], candidate: Sequence[OutputReading]) -> list[StatusChange]:
    changes: Counter[tuple[Status, Status]] = Counter(
        (before.status, after.status)
        for before, after in zip(baseline, candidate, strict=True)
        if before.status != after.status
    )
    return [StatusChange(baseline=before, candidate=after, n=n) for (before, after), n in changes.most_common()]


def _misread(reading: OutputReading) -> Counter[tuple[str, str]]:
    return Counter([reading.closed] if reading.closed and reading.closed[0] != reading.closed[1] else [])


def _hotwords(baseline: Sequence[OutputReading], candidate: Sequence[OutputReading]) -> list[HotwordRow]:
    """Sums over the slice; the hotwords whose hits fell or whose false alarms grew most come first."""
    said, heard, invented = Counter[str](), (Counter[str](), Counter[str]()), (Counter[str](), Counter[str]())
    for run, readings in enumerate((baseline, candidate)):
        for reading in readings:
            for count in reading.hotwords:
                said[count.word] += count.said if run == 0 else 0
                heard[run][count.word] += min(count.said, count.written)
                invented[run][count.word] += max(0, count.written - count.said)
    words = [word for word in said if said[word] or invented[0][word] or invented[1][word]]
    words.sort(
        key=lambda word: (heard[1][word] - heard[0][word] + invented[0][word] - invented[1][word], -said[word], word)
    )
    return [
        HotwordRow(
            word=word,
            said=said[word],
            heard=(heard[0][word], heard[1][word]),
            invented=(invented[0][word], invented[1][word]),
        )
        for word in words[:_MOST_HOTWORDS]
    ]


def _concentration(
    paired: PairedSamples, slice_index: int | None, candidate: int, chosen: BoolArray
) -> list[Concentration]:
    """Overlapping slices by the share of their samples that broke, small overlaps last."""
    change = paired.change(candidate)
    own = paired.slices[slice_index].attribute if slice_index is not None else None
    found = []
    for index, name in enumerate(paired.slices):
        if name.attribute == own:
            continue
        inside = chosen & paired.members[index]
        n, broke = int(inside.sum()), int((inside & (change < 0)).sum())
        if broke == 0 or n == int(chosen.sum()):
            continue
        before, after = (paired.pooled_rate(run, 0, inside) for run in (0, candidate + 1))
        found.append(
            Concentration(
                slice=index,
                n=n,
                broke=broke,
                fixed=int((inside & (change > 0)).sum()),
                loss=relative_loss(before, after, paired.higher_is_better[0]),
            )
        )
    found.sort(key=lambda part: (part.n < _FEWEST_SAMPLES, -part.broke / part.n, -part.broke))
    return found[:_MOST_CONCENTRATIONS]


def _quality_histograms(paired: PairedSamples, candidate: int, chosen: BoolArray) -> list[Histogram]:
    """The first metric that takes more than two values, and IoU, which says how far off a localization is."""
    found: list[Histogram] = []
    for metric, name in enumerate(paired.metrics):
        before = paired.quality(0, metric)[chosen]
        after = paired.quality(candidate + 1, metric)[chosen]
        both = np.concatenate([before, after])
        both = both[np.isfinite(both)]
        if np.unique(both).size > 2 and (not found or name == _IOU):
            low, high = min(0.0, float(both.min())), max(1.0, float(both.max()))
            found.append(_binned(name, "rate", low, high, before, after))
    return found


def _offset_histograms(baseline: Sequence[OutputReading], candidate: Sequence[OutputReading]) -> list[Histogram]:
    """How much too late spans and turns begin and end; one symmetric axis for both, zero in the middle of it."""
    before, after = (
        np.array([offset for reading in readings for offset in reading.offsets], dtype=np.float64).reshape(-1, 2)
        for readings in (baseline, candidate)
    )
    both = np.abs(np.concatenate([before, after]))
    if both.size == 0 or both.max() == 0:
        return []
    reach = max(_SMALLEST_OFFSET_RANGE_S, float(both.max()))
    return [
        _binned(name, "seconds", -reach, reach, before[:, side], after[:, side])
        for side, name in enumerate(("start", "end"))
    ]


def _binned(
    metric: str,
    unit: Literal["rate", "seconds"],
    low: float,
    high: float,
    baseline: NDArray[np.float64],
    candidate: NDArray[np.float64],
) -> Histogram:
    # An odd number of bins gives an offset of zero a bin of its own.
    bins = _BINS if unit == "rate" else _BINS + 1
    counts = [
        np.histogram(values[np.isfinite(values)], bins, (low, high))[0].tolist() for values in (baseline, candidate)
    ]
    return Histogram(metric=metric, unit=unit, low=low, high=high, baseline=counts[0], candidate=counts[1])
