"""What a slice shows beyond its cell in the matrix: outcomes, status changes, confusions, where the damage sits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from tliveomni_eval.evals.record import Status
from tliveomni_eval.leaderboard.page_data import (
    Concentration,
    Histogram,
    MetricPair,
    SliceDetail,
    StatusChange,
)
from tliveomni_eval.leaderboard.paired_samples import BoolArray, PairedSamples
from tliveomni_eval.leaderboard.text_alignment import rank_confusions

_MOST_CONCENTRATIONS = 8
_FEWEST_SAMPLES = 5
_BINS = 20

Confusions = Sequence[Counter[tuple[str, str]]]
"""Character confusions of each sample."""


def slice_detail(
    paired: PairedSamples,
    slice_index: int | None,
    candidate: int,
    statuses: Sequence[Sequence[Status | None]],
    confusions: Sequence[Confusions],
) -> SliceDetail:
    """Details of one slice for one candidate.

    Args:
        paired: The task.
        slice_index: Index into `paired.slices`; None for the whole task.
        candidate: The candidate, from 0.
        statuses: For each run the status of each sample, None where it lacks it.
        confusions: For each run the character confusions of each sample.
    """
    chosen = paired.in_both(candidate)
    if slice_index is not None:
        chosen = chosen & paired.members[slice_index]
    change = paired.change(candidate)
    same = chosen & (change == 0)
    right = paired.quality(0) >= 1
    indices: list[int] = np.flatnonzero(chosen).tolist()
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
        status_changes=_status_changes(statuses[0], statuses[candidate + 1], indices),
        confusions=rank_confusions(
            (confusions[0][index] for index in indices), (confusions[candidate + 1][index] for index in indices)
        ),
        concentration=_concentration(paired, slice_index, candidate, chosen),
        histogram=_histogram(paired, candidate, chosen),
    )


def relative_loss(baseline: float | None, candidate: float | None, higher_is_better: bool) -> float | None:
    """(Q_b − Q_c) / Q_b of two rates; None where it is undefined."""
    if baseline is None or candidate is None:
        return None
    q_baseline, q_candidate = (baseline, candidate) if higher_is_better else (1 - baseline, 1 - candidate)
    return (q_baseline - q_candidate) / q_baseline if q_baseline > 0 else None


def _status_changes(
    baseline: Sequence[Status | None],
    candidate: Sequence[Status | None],
    indices: Sequence[int],
) -> list[StatusChange]:
    changes: Counter[tuple[Status, Status]] = Counter()
    for index in indices:
        before, after = baseline[index], candidate[index]
        if before is not None and after is not None and before != after:
            changes[before, after] += 1
    return [StatusChange(baseline=before, candidate=after, n=n) for (before, after), n in changes.most_common()]


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


def _histogram(paired: PairedSamples, candidate: int, chosen: BoolArray) -> Histogram | None:
    for metric, name in enumerate(paired.metrics):
        before = paired.quality(0, metric)[chosen]
        after = paired.quality(candidate + 1, metric)[chosen]
        both = np.concatenate([before, after])
        both = both[np.isfinite(both)]
        if np.unique(both).size > 2:
            low, high = min(0.0, float(both.min())), max(1.0, float(both.max()))
            return Histogram(
                metric=name,
                low=low,
                high=high,
                baseline=np.histogram(before[np.isfinite(before)], _BINS, (low, high))[0].tolist(),
                candidate=np.histogram(after[np.isfinite(after)], _BINS, (low, high))[0].tolist(),
            )
    return None
