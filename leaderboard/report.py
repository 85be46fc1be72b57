"""Writes the page of a comparison: one file, or a folder with the data and the media beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel
from tliveomni_eval.evals.gate.gate import gate_candidates
from tliveomni_eval.evals.gate.policy import Policy
from tliveomni_eval.evals.gate.verdict import Outcome
from tliveomni_eval.leaderboard.exports import EXPORTS
from tliveomni_eval.leaderboard.media_inclusion import CopiedMedia, EmbeddedMedia, MediaChoice
from tliveomni_eval.leaderboard.media_location import MediaLocator, default_media_roots
from tliveomni_eval.leaderboard.page_builder import Comparison, build_overview, pair_tasks
from tliveomni_eval.leaderboard.page_data import PageOverview
from tliveomni_eval.leaderboard.page_html import folder_index, folder_task_script, single_file, static_text
from tliveomni_eval.leaderboard.report_error import ReportError
from tliveomni_eval.leaderboard.reported_runs import read_reported_runs, run_folders, split_baseline
from tliveomni_eval.leaderboard.task_page import build_task_page

SINGLE_FILE_LIMIT = 48 * 2**20
"""Bytes of a page in one file; a browser still opens it without a pause."""
_BASE64_GROWTH = 4 / 3


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """What was written.

    Attributes:
        page: The file to open.
        size: Bytes of all files.
        outcome: The gate's verdict over all candidates.
        media_note: What media were left out; empty where none were.
    """

    page: Path
    size: int
    outcome: Outcome
    media_note: str


def write_report(
    runs: Sequence[Path],
    output: Path,
    *,
    baseline: str | None = None,
    policy: Policy | Path | None = None,
    media: MediaChoice | None = None,
    media_roots: Sequence[Path] = (),
    title: str | None = None,
    allow: Sequence[str] = (),
    noise: Path | None = None,
    evidence: Sequence[Path] = (),
    now: datetime | None = None,
    limit: int = SINGLE_FILE_LIMIT,
) -> WrittenReport:
    """Compares runs and writes the page.

    Args:
        runs: Run folders, or folders of runs.
        output: `NAME.html` for one file; `NAME.csv`, `.md`, `.json` or `.svg` for the release matrix alone (see
            `exports`); anything else for a folder.
        baseline: Name of the baseline; see `split_baseline`.
        policy: Policy of the gate; every slice at 1.5 % by default.
        media: Which samples carry media; by default those that changed or are wrong in one file, all in a folder.
        media_roots: Further folders whose media may be shown.
        title: Heading; the names of the runs by default.
        allow: Differences between runs that do not forbid the comparison.
        noise: A second run of the baseline, to tell loss from noise.
        evidence: Files of `tlive bench` and `tlive parity` on checkpoints of the runs, beside those in their folders.
        now: Time written on the page; the current one by default.
        limit: Bytes of a page in one file; media beyond it are left out with a note.

    Raises:
        ReportError: If runs cannot be read, or the page cannot be written.
        PolicyError: If the policy is wrong.
    """
    folders = run_folders(runs)
    comparison = _compare(folders, baseline, policy, noise, allow, evidence)
    tasks = pair_tasks(comparison)
    gated, reference = comparison.report, comparison.baseline
    locator = MediaLocator(default_media_roots(folders, media_roots))
    single = output.suffix.lower() in (".html", ".htm")
    inclusion = (
        EmbeddedMedia(media or "changed", int(limit / _BASE64_GROWTH * 0.85))
        if single
        else CopiedMedia(media or "all", output)
    )
    heading = title or f"{', '.join(tasks)} · {reference.name}"
    when = now or datetime.now(UTC)
    try:
        if export := EXPORTS.get(output.suffix.lower()):
            output.parent.mkdir(parents=True, exist_ok=True)
            _write(output, export(build_overview(comparison, tasks, heading, when)))
            return WrittenReport(output, output.stat().st_size, gated.outcome, "")
        pages = [build_task_page(name, paired, locator, inclusion) for name, paired in tasks.items()]
        note = _media_note(pages)
        overview = build_overview(comparison, tasks, heading, when, note)
        files = _single(output, heading, overview, pages) if single else _folder(output, heading, overview, pages)
    except OSError as error:
        raise ReportError(f"cannot write {error.filename or output}: {error.strerror}") from error
    size = sum(file.stat().st_size for file in files)
    if not single:
        size += sum(file.stat().st_size for file in (output / "media").glob("*"))
    return WrittenReport(files[0], size, gated.outcome, note)


def overview_of(
    runs: Sequence[Path],
    *,
    baseline: str | None = None,
    policy: Policy | Path | None = None,
    evidence: Sequence[Path] = (),
    title: str | None = None,
    now: datetime | None = None,
) -> PageOverview:
    """Compares runs and gives what the release matrix shows, without samples; see `write_report`.

    Raises:
        ReportError: If runs cannot be read.
        PolicyError: If the policy is wrong.
    """
    comparison = _compare(run_folders(runs), baseline, policy, None, (), evidence)
    tasks = pair_tasks(comparison)
    heading = title or f"{', '.join(tasks)} · {comparison.baseline.name}"
    return build_overview(comparison, tasks, heading, now or datetime.now(UTC))


def _compare(
    folders: Sequence[Path],
    baseline: str | None,
    policy: Policy | Path | None,
    noise: Path | None,
    allow: Sequence[str],
    evidence: Sequence[Path],
) -> Comparison:
    reference, candidates = split_baseline(read_reported_runs(folders, evidence), baseline)
    if not candidates:
        raise ReportError(f"only one run ({reference.name}): name the baseline and at least one candidate")
    assert reference.run is not None
    judged = [run.run or run.path for run in candidates]
    return Comparison(reference, candidates, gate_candidates(reference.run, judged, policy, noise=noise, allow=allow))


def _media_note(pages: Sequence[BaseModel]) -> str:
    media = [item for page in pages for item in getattr(page, "media", [])]
    absent = [item for item in media if not item.source]
    if not absent:
        return ""
    reasons: dict[str, int] = {}
    for item in absent:
        reasons[item.reason] = reasons.get(item.reason, 0) + 1
    most = max(reasons, key=lambda reason: reasons[reason])
    return f"{len(absent)} of {len(media)} media {'is' if len(absent) == 1 else 'are'} not on this page: {most}"


def _single(output: Path, title: str, overview: BaseModel, pages: Sequence[BaseModel]) -> list[Path]:
    output.parent.mkdir(parents=True, exist_ok=True)
    _write(output, single_file(title, overview, pages))
    return [output]


def _folder(output: Path, title: str, overview: BaseModel, pages: Sequence[BaseModel]) -> list[Path]:
    (output / "data").mkdir(parents=True, exist_ok=True)
    written = []
    for index, page in enumerate(pages):
        written.append(_write(output / "data" / f"task-{index}.js", folder_task_script(index, page)))
    for name in ("page.js", "page.css"):
        written.append(_write(output / name, static_text(name)))
    return [_write(output / "index.html", folder_index(title, overview)), *written]


def _write(path: Path, text: str) -> Path:
    """Writes in one step, so that an interrupted report never leaves half a page."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path
