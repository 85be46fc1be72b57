"""The calibration set: candidates shared out by weight, written as a data folder with its report."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.calibration.calibration_report import (
    REPORT_NAME,
    CalibrationReport,
    Coverage,
    TaskShare,
)
from tliveomni_eval.model_adapters.calibration.candidate_pool import Candidate, CandidatePool
from tliveomni_eval.model_adapters.calibration.manifest_scan import Scan
from tliveomni_eval.model_adapters.calibration.quota import Stratum, allocate, shares
from tliveomni_eval.model_adapters.calibration.task_prompts import prompt_of
from tliveomni_eval.tasks.data_location import data_fingerprint
from tliveomni_eval.tasks.manifest import MANIFEST_NAME, Sample
from tliveomni_eval.tasks.task_index import TaskEntry

TOLERANCE = 0.05
"""Of a task's share: sizes and durations, known of the candidates alone, shift samples a little between tasks."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for.

    Attributes:
        wanted: Number of samples.
        seed: Of the draw.
        evaluation: Folders that nothing may come from.
        evaluation_samples: Samples in those.
        index: All tasks.
        measured: Tasks whose weight was measured.
    """

    wanted: int
    seed: int
    evaluation: Sequence[Path]
    evaluation_samples: int
    index: dict[str, TaskEntry]
    measured: frozenset[str] = frozenset()


def choose(candidates: Sequence[Candidate], wanted: int) -> list[Candidate]:
    """Share `wanted` samples out over the strata of the candidates, those of the media included.

    Args:
        candidates: In the order drawn, which decides within a stratum.
        wanted: Samples to choose.

    Returns:
        The chosen in the order drawn.
    """
    groups: dict[tuple[tuple[tuple[str, str], ...], float], list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault((candidate.traits, candidate.weight), []).append(candidate)
    strata = [
        Stratum(dict(traits)["task"], traits, weight, len(members)) for (traits, weight), members in groups.items()
    ]
    counts = allocate(wanted, strata)
    chosen = [member for members, count in zip(groups.values(), counts, strict=True) for member in members[:count]]
    return sorted(chosen, key=lambda candidate: candidate.row)


def write_calibration_set(scan: Scan, pool: CandidatePool, request: Request, out: Path) -> CalibrationReport:
    """Choose, and write the folder in one step.

    Media are linked where the file system can (hard links), else copied, and named by their content.

    Args:
        scan: All lines.
        pool: The candidates.
        request: What is asked for.
        out: Folder to make; an earlier calibration set there is replaced.

    Raises:
        UserError: No candidate may calibrate, or `out` holds something else.
    """
    if out.exists() and any(out.iterdir()) and not (out / REPORT_NAME).is_file():
        raise UserError(f"--out {str(out)!r} holds something that is no calibration set: choose another folder")
    chosen = choose(pool.kept, request.wanted)
    if not chosen:
        raise UserError(
            f"nothing to choose from: of {pool.looked_at:,} candidates {len(pool.leaks):,} are evaluation data and "
            f"{len(pool.faults):,} cannot be used"
            + (f", the first: {pool.faults[0]}" if pool.faults else "")
            + (f"; the first leak: {_leak_text(pool)}" if pool.leaks else "")
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as scratch:
        folder = Path(scratch) / out.name
        (folder / "media").mkdir(parents=True)
        samples = _written(scan, chosen, request, folder)
        report = _report(scan, pool, chosen, request, data_fingerprint(folder, samples))
        (folder / REPORT_NAME).write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
        if out.exists():
            shutil.rmtree(out)
        folder.rename(out)
    return report


def _leak_text(pool: CandidatePool) -> str:
    first = pool.leaks[0]
    return f"{first.task} {first.id} is {first.evaluation} ({first.kind} {first.what})"


def _written(scan: Scan, chosen: Sequence[Candidate], request: Request, folder: Path) -> list[Sample]:
    samples = []
    ids: Counter[tuple[str, str]] = Counter()
    with (folder / MANIFEST_NAME).open("w", encoding="utf-8") as file:
        for candidate in chosen:
            sample, source = candidate.sample, scan.folders[scan.folder[candidate.row]]
            media = []
            for medium, fact in zip(sample.media, candidate.facts, strict=True):
                name = f"media/{fact.digest.hex()[:24]}{Path(medium.path).suffix.lower()}"
                if not (folder / name).exists():
                    _link_or_copy((source / medium.path).resolve(), folder / name)
                media.append(medium.model_copy(update={"path": name}))
            ids[sample.task, sample.id] += 1
            again = ids[sample.task, sample.id]
            changes = {
                "id": sample.id if again == 1 else f"{sample.id}~{again}",
                "media": tuple(media),
                "prompt": prompt_of(sample, source, request.index),
            }
            samples.append(sample.model_copy(update=changes))
            file.write(samples[-1].model_dump_json() + "\n")
    return samples


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _report(
    scan: Scan, pool: CandidatePool, chosen: Sequence[Candidate], request: Request, fingerprint: str
) -> CalibrationReport:
    coverage = _coverage(scan, pool, chosen)
    tasks = _task_shares(scan, chosen, request)
    unfilled = [f"{row.dimension} {row.value}: none of {row.available:,} chosen" for row in coverage if row.chosen == 0]
    unfilled += [line for row in tasks if (line := _shortfall(row))]
    if len(chosen) < request.wanted:
        unfilled.append(f"the whole: {len(chosen):,} of {request.wanted:,} samples; add folders to draw from")
    return CalibrationReport(
        seed=request.seed,
        wanted=request.wanted,
        chosen=len(chosen),
        fingerprint=fingerprint,
        sources=[str(folder) for folder in scan.folders],
        evaluation=[str(folder) for folder in request.evaluation],
        evaluation_samples=request.evaluation_samples,
        lines=len(scan),
        repeats=scan.repeats,
        faulty=scan.faulty,
        faults=(scan.faults + pool.faults)[:20],
        candidates=pool.looked_at,
        unusable=len(pool.faults),
        near_duplicates=pool.near_duplicates,
        leaks=pool.leaks,
        tasks=tasks,
        coverage=coverage,
        unfilled=unfilled,
    )


def _shortfall(row: TaskShare) -> str:
    """What a task lacks of its share, in words; empty where that is less than a twentieth."""
    if row.available < row.wanted:
        return f"task {row.task}: {row.chosen:,} of {row.wanted:,}, all it has of {row.available:,} lines"
    if row.chosen >= (1 - TOLERANCE) * row.wanted:
        return ""
    return f"task {row.task}: {row.chosen:,} of {row.wanted:,}, because candidates were left out"


def _coverage(scan: Scan, pool: CandidatePool, chosen: Sequence[Candidate]) -> list[Coverage]:
    available: Counter[tuple[str, str]] = Counter()
    for (traits, _), count in zip(scan.strata, np.bincount(scan.stratum, minlength=len(scan.strata)), strict=True):
        for trait in traits:
            available[trait] += int(count)
    of_lines = {dimension for dimension, _ in available}
    for candidate in pool.kept:
        available.update(trait for trait in candidate.traits if trait[0] not in of_lines)
    got = Counter(trait for candidate in chosen for trait in candidate.traits)
    return [
        Coverage(dimension=dimension, value=value, available=count, chosen=got[dimension, value])
        for (dimension, value), count in sorted(available.items())
    ]


def _task_shares(scan: Scan, chosen: Sequence[Candidate], request: Request) -> list[TaskShare]:
    sizes = np.bincount(scan.stratum, minlength=len(scan.strata))
    strata = [
        Stratum(dict(traits)["task"], traits, weight, int(size))
        for (traits, weight), size in zip(scan.strata, sizes, strict=True)
    ]
    by_task: dict[str, list[int]] = {}
    for number, stratum in enumerate(strata):
        by_task.setdefault(stratum.task, []).append(number)
    share = shares(strata)
    got = Counter(candidate.sample.task for candidate in chosen)
    return [
        TaskShare(
            task=task,
            sensitivity=_sensitivity(task, request),
            weight=float(np.mean([strata[number].weight for number in numbers])),
            templates=scan.templates.get(task, 0),
            strata=len(numbers),
            available=int(sizes[numbers].sum()),
            wanted=round(float(share[numbers].sum()) * request.wanted),
            chosen=got[task],
        )
        for task, numbers in sorted(by_task.items())
    ]


def _sensitivity(task: str, request: Request) -> str:
    if task in request.measured:
        return "measured"
    entry = request.index.get(task)
    return str(entry.metadata.get("sensitivity", "undeclared")) if entry else "undeclared"
