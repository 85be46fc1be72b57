"""The samples of one task as the page shows them, and the details of its slices; see `page_data`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field
from tliveomni_eval.evals.record import Status
from tliveomni_eval.leaderboard.page_model import MediaKind, PageModel
from tliveomni_eval.leaderboard.slice_data import SliceDetail

EditTag = Literal["=", "r", "d", "i"]
"""One step of an alignment: equal, replaced, deleted (only in the reference), inserted (only in the output)."""


class SliceName(PageModel):
    """A slice of a task."""

    attribute: str
    value: str


class MediaItem(PageModel):
    """One image, recording or video of a sample.

    Attributes:
        kind: How to draw it.
        name: File name, for the reader.
        source: `data:` URI or path relative to the page; empty where it was left out.
        thumbnail: A small picture of it; empty where `source` serves.
        bytes: Size of the original.
        reason: Why `source` is empty.
        peaks: Outline of a recording, see `waveform`.
        duration_s: Length of a recording in seconds, where known.
    """

    kind: MediaKind
    name: str
    source: str = ""
    thumbnail: str = ""
    bytes: int = 0
    reason: str = ""
    peaks: list[int] = Field(default_factory=list)
    duration_s: float | None = None


class DrawnBox(PageModel):
    """A box over an image.

    Attributes:
        box: Left, top, right, bottom in pixels.
        label: Its label; may be empty.
        score: Confidence, where stated.
    """

    box: tuple[float, float, float, float]
    label: str = ""
    score: float | None = None


class DrawnSpan(PageModel):
    """A span of a recording, in seconds."""

    start: float
    end: float


class DrawnTurn(PageModel):
    """What one speaker said, in seconds.

    Attributes:
        speaker: Label as stated.
        matched: The reference speaker it was matched with; empty where with none.
        start: Beginning.
        end: End.
        text: Words.
    """

    speaker: str
    matched: str
    start: float
    end: float
    text: str = ""


class Drawing(PageModel):
    """What is drawn over an image or along a recording."""

    boxes: list[DrawnBox] = Field(default_factory=list)
    spans: list[DrawnSpan] = Field(default_factory=list)
    turns: list[DrawnTurn] = Field(default_factory=list)


class ChoiceOption(PageModel):
    """An option of a multiple-choice question."""

    letter: str
    text: str
    right: bool


class HotwordCount(PageModel):
    """Occurrences of one hotword in the reference and in an answer."""

    word: str
    said: int
    written: int


class Output(PageModel):
    """What one run answered to one sample.

    Attributes:
        text: The answer.
        status: See `tliveomni_eval.evals.record.Status`.
        quality: Headline quality in 0..1, higher is better; None where undefined.
        metrics: Rate of each metric, in the order of `TaskPage.metrics`.
        edits: Alignment with the reference as (tag, length in the reference, length in the output), in Unicode code
            points; empty where the two are equal or too long to align.
        drawing: What the run predicted, where it can be drawn.
        chosen: Letter of the option the answer was read as; None where it is no such question or could not be read.
        hotwords: Hotwords of the sample.
        detail: What else the scorer left for the viewer.
        tokens: Output tokens, where logged.
        logprobs: (token, natural logarithm of its probability), where logged.
    """

    text: str
    status: Status
    quality: float | None
    metrics: list[float | None] = Field(default_factory=list)
    edits: list[tuple[EditTag, int, int]] = Field(default_factory=list)
    drawing: Drawing | None = None
    chosen: str | None = None
    hotwords: list[HotwordCount] = Field(default_factory=list)
    detail: dict[str, Any] = Field(default_factory=dict)
    tokens: int | None = None
    logprobs: list[tuple[str, float]] = Field(default_factory=list)


class Sample(PageModel):
    """One sample with the answers of all runs.

    Attributes:
        id: Unique within the task.
        cluster: Its cluster.
        slices: Indices into `TaskPage.slices`.
        prompt: Index into `TaskPage.prompts`.
        reference: Expected answer.
        media: Indices into `TaskPage.media`.
        drawing: What is right, where it can be drawn.
        options: Options of a multiple-choice question.
        outputs: One a run: the baseline first, then the candidates in order; None where a run lacks the sample.
        changes: One a candidate: quality of the candidate minus that of the baseline; None where undefined.
    """

    id: str
    cluster: str
    slices: list[int]
    prompt: int
    reference: str
    media: list[int] = Field(default_factory=list)
    drawing: Drawing | None = None
    options: list[ChoiceOption] = Field(default_factory=list)
    outputs: list[Output | None]
    changes: list[float | None]


class TaskPage(PageModel):
    """The samples of a task and the details of its slices.

    Attributes:
        task: Name of the task.
        metrics: Names of all metrics; the headline is first.
        slices: All slices.
        prompts: Distinct prompts.
        media: Distinct media.
        details: One a slice and candidate.
        samples: All samples.
    """

    task: str
    metrics: list[str]
    slices: list[SliceName]
    prompts: list[str]
    media: list[MediaItem]
    details: list[SliceDetail]
    samples: list[Sample]
