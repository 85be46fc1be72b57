"""What an experiment tracker is told of a run: parameters, metrics and files, the same for every tracker."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tliveomni_eval.leaderboard.exports import as_csv, as_json, as_markdown
from tliveomni_eval.leaderboard.page_data import Cell, MatrixRow, PageOverview, RunCard

_LONGEST_NAME = 200
_LONGEST_PARAMETER = 500
_REFUSED = re.compile(r"[^\w\-. :/]", re.ASCII)
"""MLflow takes letters, digits and these signs in names; W&B takes more."""


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """One run for a tracker.

    Attributes:
        id: 16 hexadecimal digits over what is tracked: the same run under the same verdict has the same id.
        name: Name to show.
        started: When it began; None where unknown.
        parameters: How it was made.
        metrics: Name to value: quality of each slice, and of a candidate its loss with interval and its flips.
        tags: Its part in the comparison, its verdict, its variant.
        files: File name to text: the release matrix.
    """

    id: str
    name: str
    started: datetime | None
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    files: Mapping[str, str]


def tracked_runs(overview: PageOverview) -> list[TrackedRun]:
    """The baseline and every candidate of a comparison."""
    files = {
        "release-matrix.csv": as_csv(overview),
        "release-matrix.md": as_markdown(overview),
        "release-matrix.json": as_json(overview),
    }
    found = [_tracked(overview.baseline, "baseline", _baseline_metrics(overview), {}, overview)]
    for index, candidate in enumerate(overview.candidates):
        metrics = _candidate_metrics(overview, index)
        found.append(_tracked(candidate, "candidate", metrics, files, overview))
    return found


def metric_name(*parts: str) -> str:
    """A name that every tracker takes; one that had to be changed ends in a hash, so that no two fall together.

    >>> metric_name("live_ocr.text_px", "10-13.loss")
    'live_ocr.text_px/10-13.loss'
    >>> metric_name("live_ocr.lang", "中文.loss")
    'live_ocr.lang/__.loss.a05ed8ce'
    """
    cleaned = "/".join(_REFUSED.sub("_", part.replace("/", "_")).strip(". ") or "_" for part in parts)[:_LONGEST_NAME]
    if cleaned == "/".join(parts):
        return cleaned
    return f"{cleaned}.{hashlib.sha256('/'.join(parts).encode('utf-8', 'replace')).hexdigest()[:8]}"


def _tracked(
    card: RunCard, role: str, metrics: Mapping[str, float], files: Mapping[str, str], overview: PageOverview
) -> TrackedRun:
    parameters = {
        f"{entry.group}.{entry.name}"[:_LONGEST_NAME]: entry.value[:_LONGEST_PARAMETER] for entry in card.environment
    }
    tags = {
        "tlive.role": role,
        "tlive.verdict": card.verdict or "",
        "tlive.variant": card.variant or "",
        "tlive.hardware": card.hardware,
        "tlive.baseline": overview.baseline.name,
    }
    digest = hashlib.sha256()
    for part in (card.name, card.started or "", *(f"{key}={value}" for key, value in sorted(parameters.items()))):
        digest.update(part.encode("utf-8", "replace") + b"\0")
    for name, value in sorted(metrics.items()):
        digest.update(f"{name}={value!r}".encode() + b"\0")
    return TrackedRun(
        id=digest.hexdigest()[:16],
        name=card.name,
        started=datetime.fromisoformat(card.started) if card.started else None,
        parameters={_REFUSED.sub("_", key): value for key, value in parameters.items()},
        metrics=metrics,
        tags={key: value for key, value in tags.items() if value},
        files=files,
    )


def _of_row(row: MatrixRow, figure: str) -> str:
    """`task/figure` and `task.attribute/value.figure`: MLflow makes folders of names, and none may also be a file."""
    if row.attribute is None:
        return metric_name(row.task, figure)
    return metric_name(f"{row.task}.{row.attribute}", f"{row.value}.{figure}")


def _speeds(overview: PageOverview, run: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for row in overview.standings:
        measures = {
            "seconds_per_sample": row.seconds_per_sample,
            "ttft_s": row.ttft_s,
            "tpot_s": row.tpot_s,
            "peak_memory_bytes": row.memory_bytes,
        }
        if row.run == run:
            found |= {
                metric_name(row.task, name): float(value) for name, value in measures.items() if value is not None
            }
    return found


def _baseline_metrics(overview: PageOverview) -> dict[str, float]:
    metrics = _speeds(overview, overview.baseline.key)
    for row in overview.rows:
        known = [cell.baseline_quality for cell in row.cells if cell.baseline_quality is not None]
        if known:
            metrics[_of_row(row, "quality")] = known[0]
    return metrics


def _candidate_metrics(overview: PageOverview, index: int) -> dict[str, float]:
    metrics = _speeds(overview, overview.candidates[index].key)
    for verdict, count in overview.candidates[index].counts.items():
        metrics[metric_name("slices", verdict)] = count
    for row in overview.rows:
        for name, value in _numbers(row.cells[index]).items():
            if value is not None:
                metrics[_of_row(row, name)] = float(value)
    return metrics


def _numbers(cell: Cell) -> dict[str, float | None]:
    return {
        "quality": cell.candidate_quality,
        "loss": cell.loss,
        "loss_low": cell.low,
        "loss_high": cell.high,
        "broke": cell.broke,
        "fixed": cell.fixed,
        "samples": cell.n,
    }
