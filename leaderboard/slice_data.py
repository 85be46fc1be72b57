"""What one slice shows beyond its cell in the matrix; part of a `TaskPage`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from tliveomni_eval.evals.record import Status
from tliveomni_eval.leaderboard.page_model import PageModel


class MetricPair(PageModel):
    """One metric on one slice for both runs, as reported (a rate computed from summed counts)."""

    metric: str
    baseline: float | None
    candidate: float | None
    higher_is_better: bool = True


class StatusChange(PageModel):
    """Samples whose status went from one to another between baseline and candidate."""

    baseline: Status
    candidate: Status
    n: int


class Confusion(PageModel):
    """A piece of the reference that came out as another.

    Attributes:
        reference: Text of the reference; empty for an insertion.
        output: Text that stands there instead; empty for a deletion.
        baseline: How often in the baseline.
        candidate: How often in the candidate.
    """

    reference: str
    output: str
    baseline: int
    candidate: int


class Concentration(PageModel):
    """Where in a slice the damage sits: another slice that overlaps it.

    Attributes:
        slice: Index into `TaskPage.slices`.
        n: Samples in both slices.
        broke: Of these, samples that broke.
        fixed: Of these, samples that got better.
        loss: Relative loss of quality on the intersection; None where undefined.
    """

    slice: int
    n: int
    broke: int
    fixed: int
    loss: float | None


class Histogram(PageModel):
    """Distribution of one quantity over the samples of both runs, in equal bins of [low, high].

    Attributes:
        metric: Name of the metric; for an offset `start` or `end`.
        unit: `rate` for a quality in 0..1; `seconds` for how much later than the reference a span or turn is.
        low: Lower edge of the first bin.
        high: Upper edge of the last bin.
        baseline: Samples (for offsets: spans or turns) in each bin.
        candidate: The same for the candidate.
    """

    metric: str
    unit: Literal["rate", "seconds"] = "rate"
    low: float
    high: float
    baseline: list[int]
    candidate: list[int]


class HotwordRow(PageModel):
    """How one hotword fared on a slice.

    Attributes:
        word: The hotword.
        said: Occurrences in the references.
        heard: Of these, occurrences in the answers of baseline and candidate.
        invented: Occurrences in the answers that were not said.
    """

    word: str
    said: int
    heard: tuple[int, int]
    invented: tuple[int, int]


class SliceDetail(PageModel):
    """What one slice shows for one candidate beyond its cell.

    Attributes:
        slice: Index into `TaskPage.slices`; None for the whole task.
        candidate: Index into `PageOverview.candidates`.
        both_right: Samples with quality 1 in both runs.
        both_wrong: Samples with the same quality below 1 in both runs.
        metrics: All metrics of the task.
        status_changes: Changes only, most frequent first.
        confusions: Largest increase first.
        concentration: Largest share of broken samples first.
        choices: Answers taken from a closed set (options, numbers, product names) that changed, largest increase first.
        histograms: The first metric with more than two distinct values, IoU, and offsets in time, where there are any.
        hotwords: Most lost first.
    """

    slice: int | None
    candidate: int
    both_right: int
    both_wrong: int
    metrics: list[MetricPair]
    status_changes: list[StatusChange]
    confusions: list[Confusion]
    concentration: list[Concentration]
    choices: list[Confusion] = Field(default_factory=list)
    histograms: list[Histogram] = Field(default_factory=list)
    hotwords: list[HotwordRow] = Field(default_factory=list)
