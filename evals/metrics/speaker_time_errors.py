"""Diarization error rate (DER) and Jaccard error rate (JER) over time.

Sources: NIST RT-09 evaluation plan and md-eval for DER, second DIHARD evaluation plan for JER. Equal to
pyannote.metrics 4.2 over the union of both extents, where overlapping turns of one speaker are merged first (a
speaker speaks once at a time) and `collar_s` is, as there, the total width around a boundary: twice md-eval's `-c`.
Written here because pyannote.metrics takes 12 ms a sample for what one matrix product holds.

Where several mappings of speakers share the most time, DER is the same for all and JER depends on the one taken: the
first here, the one that rounding favours there. With an empty reference pyannote returns 1; here the errors count over
a length of 0, so that a pooled rate stays errors over length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from tliveomni_eval.evals.record import Counts

SpeakerSpan = tuple[str, float, float]
"""`(speaker, start, end)` in seconds."""

_SHORTEST_S = 1e-6


@dataclass(frozen=True, slots=True)
class SpeakerTimeErrors:
    """Seconds of each kind of error.

    Attributes:
        missed: Reference speech that nobody was given.
        false_alarm: Speech given where nobody, or fewer, spoke.
        confusion: Speech given to another speaker.
        total: Reference speech, each speaker counted.
        jaccard: Sum over reference speakers of one minus the Jaccard index with the speaker mapped to each.
        reference_speakers: How many reference speakers were scored.
        mapping: Hypothesis speaker to reference speaker.
    """

    missed: float
    false_alarm: float
    confusion: float
    total: float
    jaccard: float
    reference_speakers: int
    mapping: dict[str, str]

    @property
    def der(self) -> Counts:
        """Seconds in error over seconds of reference speech."""
        return Counts(self.missed + self.false_alarm + self.confusion, self.total)

    @property
    def jer(self) -> Counts:
        """Jaccard errors over reference speakers."""
        return Counts(self.jaccard, self.reference_speakers)


def speaker_time_errors(
    reference: Sequence[SpeakerSpan],
    hypothesis: Sequence[SpeakerSpan],
    *,
    collar_s: float = 0.0,
    skip_overlap: bool = False,
) -> SpeakerTimeErrors:
    """Compare who spoke when.

    Args:
        reference: Spans of the reference; spans shorter than a microsecond are ignored.
        hypothesis: Spans of the hypothesis.
        collar_s: Total width, in seconds, that is left out around each boundary of the reference.
        skip_overlap: Leave out where more than one reference speaker speaks.
    """
    right, read = _merged(reference), _merged(hypothesis)
    borders = sorted(
        {time for spans in (right, read) for _, start, end in spans for time in (start, end)}
        | {time + side * collar_s / 2 for _, start, end in right for time in (start, end) for side in (-1, 1)}
    )
    if len(borders) < 2:
        return SpeakerTimeErrors(0.0, 0.0, 0.0, 0.0, 0.0, 0, {})
    edges = np.array(borders)
    widths = np.diff(edges)
    speakers_a, active_a = _activity(right, edges)
    speakers_b, active_b = _activity(read, edges)
    if collar_s > 0:
        centres = (edges[:-1] + edges[1:]) / 2
        times = np.array([time for _, start, end in right for time in (start, end)])
        widths = np.where((np.abs(centres[:, None] - times) < collar_s / 2).any(axis=1), 0.0, widths)
    if skip_overlap:
        widths = np.where(active_a.sum(axis=0) > 1, 0.0, widths)
    speakers_a, active_a = _scored(speakers_a, active_a, widths)
    speakers_b, active_b = _scored(speakers_b, active_b, widths)
    count_a, count_b = active_a.sum(axis=0), active_b.sum(axis=0)
    together = np.asarray((active_a * widths) @ active_b.T, dtype=np.float64)
    rows, columns = _mapping(together)
    # Summed from differences of whole counts, so that turns which agree leave exactly nothing.
    agreed = active_a[rows] * active_b[columns]
    either = np.maximum(active_a[rows], active_b[columns])
    overlap = (agreed * widths).sum(axis=1) / (either * widths).sum(axis=1)
    confused = np.minimum(count_a, count_b) - agreed.sum(axis=0)
    return SpeakerTimeErrors(
        missed=float((np.maximum(count_a - count_b, 0) * widths).sum()),
        false_alarm=float((np.maximum(count_b - count_a, 0) * widths).sum()),
        confusion=float((confused * widths).sum()),
        total=float((count_a * widths).sum()),
        jaccard=len(speakers_a) - float(overlap.sum()),
        reference_speakers=len(speakers_a),
        mapping={speakers_b[column]: speakers_a[row] for row, column in zip(rows, columns, strict=True)},
    )


def _merged(spans: Sequence[SpeakerSpan]) -> list[SpeakerSpan]:
    """Spans by speaker, those that overlap or touch as one."""
    merged: list[SpeakerSpan] = []
    for speaker, start, end in sorted(spans):
        if end - start < _SHORTEST_S:
            continue
        if merged and merged[-1][0] == speaker and start <= merged[-1][2]:
            merged[-1] = (speaker, merged[-1][1], max(end, merged[-1][2]))
        else:
            merged.append((speaker, start, end))
    return merged


def _activity(spans: list[SpeakerSpan], edges: NDArray[np.float64]) -> tuple[list[str], NDArray[np.int64]]:
    """Whether each speaker speaks between each two edges, shape (speakers, edges - 1)."""
    speakers = sorted({speaker for speaker, _, _ in spans})
    row = {speaker: index for index, speaker in enumerate(speakers)}
    active = np.zeros((len(speakers), len(edges) - 1), dtype=np.int64)
    for speaker, start, end in spans:
        active[row[speaker], np.searchsorted(edges, start) : np.searchsorted(edges, end)] = 1
    return speakers, active


def _scored(
    speakers: list[str], active: NDArray[np.int64], widths: NDArray[np.float64]
) -> tuple[list[str], NDArray[np.int64]]:
    """The speakers of whom some time is scored."""
    kept = np.flatnonzero(active @ widths > 0)
    return [speakers[index] for index in kept], active[kept]


def _mapping(together: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The one-to-one mapping with the most common time; pairs without any are left out."""
    # To the microsecond, so that rounding in the sums does not decide between equal speakers.
    rows, columns = linear_sum_assignment(-together.round(6))
    kept = together[rows, columns] > 0
    return rows[kept], columns[kept]
