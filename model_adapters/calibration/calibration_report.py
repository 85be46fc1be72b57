"""`calibration.json`: what was chosen, from what, and what could not be."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.table import Table
from tliveomni_eval.evals.errors import UserError

REPORT_NAME = "calibration.json"


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Coverage(_Frozen):
    """One value of one dimension.

    Attributes:
        dimension: E.g. `modality`, `language`, `megapixels`, `template`.
        value: E.g. `audio+video`.
        available: Lines that have it; of dimensions that only the media show, candidates that have it.
        chosen: Chosen samples that have it.
    """

    dimension: str
    value: str
    available: int
    chosen: int


class TaskShare(_Frozen):
    """One task.

    Attributes:
        task: Its name.
        sensitivity: `precision` or `perception` as declared; `measured` where `--measure` decides; else `undeclared`.
        weight: Mean weight of its strata.
        templates: Instruction templates found in it.
        strata: Different combinations of traits.
        available: Lines.
        wanted: Samples by its weight, if every task had enough.
        chosen: Samples it gives.
    """

    task: str
    sensitivity: str
    weight: float
    templates: int
    strata: int
    available: int
    wanted: int
    chosen: int


class LeakRow(_Frozen):
    """A candidate that was refused because it is evaluation data; see `evaluation_index.Leak`."""

    folder: str
    task: str
    id: str
    kind: Literal["exact", "near"]
    what: str
    evaluation: str
    distance: float


class CalibrationReport(_Frozen):
    """Content of `calibration.json`.

    Attributes:
        schema_version: Version of this layout.
        seed: Of the draw.
        wanted: Samples asked for.
        chosen: Samples chosen.
        fingerprint: SHA-256 over the chosen samples and the bytes of their media, as for evaluation data.
        sources: Folders that were drawn from.
        evaluation: Folders that nothing may come from.
        evaluation_samples: Samples in those.
        lines: Lines that are samples, repeats left out.
        repeats: Lines that repeat an earlier one word for word.
        faulty: Lines that are no samples.
        faults: The first of them, and of the candidates that could not be used.
        candidates: Samples that were looked at with their media.
        unusable: Candidates with a fault.
        near_duplicates: Candidates left out because they repeat another candidate.
        leaks: Candidates refused because they are evaluation data.
        tasks: Shares by task.
        coverage: The coverage matrix, one row a value.
        unfilled: What a quota could not fill, in words.
    """

    schema_version: Literal[1] = 1
    seed: int
    wanted: int
    chosen: int
    fingerprint: str
    sources: list[str]
    evaluation: list[str]
    evaluation_samples: int
    lines: int
    repeats: int
    faulty: int
    faults: list[str]
    candidates: int
    unusable: int
    near_duplicates: int
    leaks: list[LeakRow]
    tasks: list[TaskShare]
    coverage: list[Coverage]
    unfilled: list[str]


def read_calibration_report(folder: Path) -> CalibrationReport:
    """Reads `calibration.json` of a folder that `tlive calibrate` wrote.

    Raises:
        UserError: There is none, or it is something else.
    """
    try:
        return CalibrationReport.model_validate_json((folder / REPORT_NAME).read_bytes())
    except OSError:
        raise UserError(f"{folder}: no {REPORT_NAME} in it; make the folder with `tlive calibrate`") from None
    except ValueError as error:
        raise UserError(f"{folder / REPORT_NAME}: not what `tlive calibrate` writes ({error})") from None


def print_report(report: CalibrationReport, console: Console) -> None:
    """Shares, coverage, leaks and what is missing, for people."""
    tasks = Table("task", "sensitivity", "weight", "templates", "strata", "lines", "wanted", "chosen")
    for row in report.tasks:
        numbers = (f"{row.templates}", f"{row.strata}", f"{row.available:,}", f"{row.wanted:,}", f"{row.chosen:,}")
        tasks.add_row(row.task, row.sensitivity, f"{row.weight:.2f}", *numbers)
    console.print(tasks)
    coverage = Table("dimension", "value: chosen of available")
    dimensions: dict[str, list[str]] = {}
    for value in report.coverage:
        if value.dimension not in ("task", "template"):
            cell = f"{value.value}: {value.chosen:,} of {value.available:,}"
            dimensions.setdefault(value.dimension, []).append(cell)
    for name, cells in dimensions.items():
        coverage.add_row(name, " · ".join(cells))
    console.print(coverage)
    if report.leaks:
        leaks = Table("refused: is evaluation data", "how", "evaluation sample", "distance")
        for leak in report.leaks[:20]:
            leaks.add_row(f"{leak.task} {leak.id}", f"{leak.kind} {leak.what}", leak.evaluation, f"{leak.distance:g}")
        console.print(leaks)
        if len(report.leaks) > 20:
            console.print(f"… and {len(report.leaks) - 20:,} more refused, all in {REPORT_NAME}", highlight=False)
    for line in report.unfilled:
        console.print(f"not filled: {line}", style="yellow", highlight=False, markup=False)
    console.print(
        f"{report.chosen:,} of {report.wanted:,} samples from {report.lines:,} lines; {report.candidates:,} candidates "
        f"looked at, {report.near_duplicates:,} near duplicates, {len(report.leaks):,} from evaluation data, "
        f"{report.unusable:,} unusable; {report.repeats:,} repeated and {report.faulty:,} faulty lines left out",
        highlight=False,
    )
