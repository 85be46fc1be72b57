"""What the page shows, as data: everything is computed here in Python, the browser only draws, sorts and filters.

The same model feeds every form of the page: one file, a folder, and the server. `PageOverview` is what the release
matrix needs and is always loaded; one `TaskPage` a task (`task_page_data`) holds the samples and is loaded when a slice
is opened. The browser's counterpart is `frontend/src/data.ts`; the two change in one commit.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from tliveomni_eval.leaderboard.page_model import PageModel, VerdictName

PAGE_FORMAT = 3
"""Version of this layout; the page refuses data of another one."""


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
        hardware: What it ran on, in words; empty where unknown.
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
    hardware: str = ""
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
        flip_rate: Share of samples whose outcome changed, either way, 0..1, where the gate counted it.
        inside_noise: Whether two runs of the baseline differ as much; None without a second run of the baseline.
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
    flip_rate: float | None = None
    inside_noise: bool | None = None
    further_clusters: int | None = None
    note: str = ""


class NoiseFigures(PageModel):
    """A slice in a second run of the baseline (A/A): what differs though nothing changed.

    Attributes:
        loss: Loss of the second run against the first, in the unit of the row's losses.
        low: Lower end of its interval.
        high: Upper end.
        flip_rate: Share of samples whose outcome changed, 0..1.
    """

    loss: float
    low: float
    high: float
    flip_rate: float


class MatrixRow(PageModel):
    """One row of the release matrix.

    Attributes:
        task: Name of the task.
        attribute: Slice attribute; None on the row of the whole task.
        value: Slice value; None on the row of the whole task.
        budget: Largest tolerated loss, in the unit of `loss_kind`.
        loss_kind: `relative` loss of quality or `absolute` points.
        cells: One a candidate, in the order of `PageOverview.candidates`.
        noise: The second run of the baseline on this slice, where there is one.
    """

    task: str
    attribute: str | None
    value: str | None
    budget: float
    loss_kind: str = "relative"
    cells: list[Cell]
    noise: NoiseFigures | None = None


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
        hardware: `RunCard.hardware`.
        quality: Headline quality, higher is better.
        seconds_per_sample: Seconds a sample takes, where known.
        speed_source: `bench` for one request at a time, measured; `run` for the time of the whole run over its samples.
        ttft_s: Median time to the first token in seconds, where measured.
        tpot_s: Median time per output token after the first in seconds, where measured.
        memory_bytes: Peak memory, where measured.
        on_front: Whether no other run on the same hardware is both better and faster.
    """

    task: str
    run: str
    hardware: str = ""
    quality: float
    seconds_per_sample: float | None
    speed_source: Literal["bench", "run"] | None = None
    ttft_s: float | None = None
    tpot_s: float | None = None
    memory_bytes: int | None = None
    on_front: bool


class Recommendation(PageModel):
    """What to ship on one hardware.

    Attributes:
        hardware: `RunCard.hardware`.
        run: `RunCard.key` of the fastest candidate inside the budget on every slice; None where none is.
        verdict: The best verdict of a candidate on this hardware; MISSING where there is no candidate.
        undecided: Keys of the candidates whose evidence is too thin.
        seconds_per_sample: Mean over tasks of what is recommended, where known.
        speed_up: How many times faster than the baseline it is, where both are known on this hardware.
    """

    hardware: str
    run: str | None
    verdict: VerdictName
    undecided: list[str] = Field(default_factory=list)
    seconds_per_sample: float | None = None
    speed_up: float | None = None


class FactTable(PageModel):
    """A table that the browser draws as it is.

    Attributes:
        title: What it is about: a run, a component.
        note: One sentence on it; may be empty.
        columns: Names of the columns; the interface translates those it knows (`factColumns` in `messages.ts`).
        rows: One value a column; True and False are drawn as held and failed.
    """

    title: str
    note: str = ""
    columns: list[str]
    rows: list[list[bool | int | float | str | None]]


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
        recommendations: One for each hardware.
        noise_run: Name of the second run of the baseline; empty where there is none.
        canaries: What the runs found out about themselves, where they did.
        parity: The backend against the reference implementation, where it was measured.
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
    recommendations: list[Recommendation] = Field(default_factory=list)
    noise_run: str = ""
    canaries: list[FactTable] = Field(default_factory=list)
    parity: list[FactTable] = Field(default_factory=list)
    media_note: str = ""
    notes: list[str] = Field(default_factory=list)
