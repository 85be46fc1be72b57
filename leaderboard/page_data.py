"""What the page shows, as data: everything is computed here in Python, the browser only draws, sorts and filters.

The same model feeds every form of the page: one file, a folder, and the server. `PageOverview` is what the release
matrix needs and is always loaded; one `TaskPage` a task holds the samples and is loaded when a slice is opened.
The browser's counterpart is `frontend/src/data.ts`; the two change in one commit.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from tliveomni_eval.evals.record import Status

PAGE_FORMAT = 2
"""Version of this layout; the page refuses data of another one."""

VerdictName = Literal["PASS", "BREACH", "INCONCLUSIVE", "MISSING"]
MediaKind = Literal["image", "audio", "video"]
EditTag = Literal["=", "r", "d", "i"]
"""One step of an alignment: equal, replaced, deleted (only in the reference), inserted (only in the output)."""


class PageModel(BaseModel):
    """Base of all parts: immutable, and a field that is not declared is a mistake of ours."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EnvironmentEntry(PageModel):
    """One fact about how a run was made.

    Attributes:
        group: Heading: checkpoint, engine, decoding, versions, hardware, data, prompts.
        name: Name within the group.
        value: Text to show.
        differs: Whether the baseline has another value (always False on the baseline).
    """

    group: str
    name: str
    value: str
    differs: bool = False


class RunCard(PageModel):
    """A run: the baseline or a candidate.

    Attributes:
        key: Short name, unique on the page.
        name: Name of the run folder.
        variant: Precision of the backend, where the run says so.
        model: lmms-eval model class, where known.
        started: ISO 8601 time, where known.
        duration_s: Seconds from start to end, where known.
        complete: False where the run did not finish.
        problem: Why the run is missing or cannot be compared; empty where it can.
        verdict: The gate's verdict for the whole candidate; None for the baseline.
        counts: Number of slices for each verdict, for the summary; empty for the baseline.
        environment: How it was made.
    """

    key: str
    name: str
    variant: str | None = None
    model: str | None = None
    started: str | None = None
    duration_s: float | None = None
    complete: bool = True
    problem: str = ""
    verdict: VerdictName | None = None
    counts: dict[VerdictName, int] = Field(default_factory=dict)
    environment: list[EnvironmentEntry] = Field(default_factory=list)


class Cell(PageModel):
    """One slice of one candidate against the baseline.

    Attributes:
        verdict: The gate's verdict.
        gated: False where the slice is reported but does not count for the release.
        loss: Loss in units of `RowLoss`; None where it is undefined.
        low: Lower end of the interval, in the same unit.
        high: Upper end.
        baseline_quality: Quality of the baseline on the slice, higher is better.
        candidate_quality: Quality of the candidate.
        n: Paired samples.
        clusters: Independent clusters among them.
        broke: Samples that were better on the baseline.
        fixed: Samples that are better on the candidate.
        further_clusters: Clusters that would decide an INCONCLUSIVE, where known.
        note: One line of explanation from the gate; may be empty.
    """

    verdict: VerdictName
    gated: bool = True
    loss: float | None = None
    low: float | None = None
    high: float | None = None
    baseline_quality: float | None = None
    candidate_quality: float | None = None
    n: int = 0
    clusters: int = 0
    broke: int = 0
    fixed: int = 0
    further_clusters: int | None = None
    note: str = ""


class MatrixRow(PageModel):
    """One row of the release matrix.

    Attributes:
        task: Name of the task.
        attribute: Slice attribute; None on the row of the whole task.
        value: Slice value; None on the row of the whole task.
        budget: Largest tolerated loss, in the unit of `loss_kind`.
        loss_kind: `relative` loss of quality or `absolute` points.
        cells: One a candidate, in the order of `PageOverview.candidates`.
    """

    task: str
    attribute: str | None
    value: str | None
    budget: float
    loss_kind: str = "relative"
    cells: list[Cell]


class TaskCard(PageModel):
    """What is known of a task without its samples.

    Attributes:
        name: Name of the task.
        metric: Headline metric.
        higher_is_better: Direction of the headline metric as reported.
        ability: Atomic ability, empty where the task does not say.
        modality: Input modality, empty where unknown.
        sensitivity: `precision` or `perception`, empty where unknown.
        samples: Number of samples in the baseline.
    """

    name: str
    metric: str
    higher_is_better: bool = True
    ability: str = ""
    modality: str = ""
    sensitivity: str = ""
    samples: int = 0


class Standing(PageModel):
    """A run on the leaderboard of one task.

    Attributes:
        task: Task name.
        run: `RunCard.key`.
        quality: Headline quality, higher is better.
        seconds_per_sample: Time of the run over its samples, where known.
        on_front: Whether no other run is both better and faster.
    """

    task: str
    run: str
    quality: float
    seconds_per_sample: float | None
    on_front: bool


class PageOverview(PageModel):
    """The release matrix and all that names things on the other views.

    Attributes:
        format: `PAGE_FORMAT`.
        title: Heading.
        generated: ISO 8601 time of writing.
        generator: Name and version of this program.
        verdict: The release verdict over all candidates.
        confidence: Level of the intervals, 0 to 1.
        baseline: The run compared against.
        candidates: The runs judged.
        tasks: All tasks.
        rows: The matrix, grouped by task, then attribute, then value.
        standings: The leaderboard, best first within a task.
        media_note: What was left out of the page and how to get it; may be empty.
        notes: Remarks of the gate about the whole comparison.
    """

    format: int = PAGE_FORMAT
    title: str
    generated: str
    generator: str
    verdict: VerdictName
    confidence: float
    baseline: RunCard
    candidates: list[RunCard]
    tasks: list[TaskCard]
    rows: list[MatrixRow]
    standings: list[Standing] = Field(default_factory=list)
    media_note: str = ""
    notes: list[str] = Field(default_factory=list)


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
