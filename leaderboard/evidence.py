"""What was measured of a checkpoint beside its runs: what it costs to serve, and how far it is from the reference."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tliveomni_eval.evals.parity_report import REPORT_NAME, ParityReport, read_parity_report
from tliveomni_eval.evals.serving_figures import SERVING_FIGURES_NAME, BenchReport, read_bench_report
from tliveomni_eval.leaderboard.report_error import ReportError

EVIDENCE_NAMES = (SERVING_FIGURES_NAME, REPORT_NAME)
"""Files of a run folder that are taken as evidence of its checkpoint."""

_LARGEST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Evidence:
    """Measurements of one checkpoint.

    Attributes:
        serving: What `tlive bench` wrote, one a machine or a setting.
        parity: What `tlive parity` wrote.
    """

    serving: tuple[BenchReport, ...] = ()
    parity: tuple[ParityReport, ...] = ()


def read_evidence(path: Path) -> BenchReport | ParityReport:
    """Reads a file of `tlive bench` or `tlive parity`; which of the two it is, its content says.

    Raises:
        UserError: If it is neither; the message names file and field.
    """
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise ReportError(f"{path}: larger than {_LARGEST_BYTES >> 20} MiB, which no such file is")
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ReportError(f"{path}: cannot be read as JSON ({error})") from None
    if isinstance(content, dict) and "workloads" in content:
        return read_bench_report(path)
    if isinstance(content, dict) and "groups" in content:
        return read_parity_report(path)
    raise ReportError(
        f"{path}: neither a {SERVING_FIGURES_NAME} of `tlive bench` nor a {REPORT_NAME} of `tlive parity`"
    )


def fingerprint_of(found: BenchReport | ParityReport) -> str | None:
    """Fingerprint of the checkpoint that was measured; None for a server, whose files were not seen."""
    return found.checkpoint_fingerprint if isinstance(found, BenchReport) else found.backends.fingerprint


def collect(found: Iterable[BenchReport | ParityReport]) -> Evidence:
    """Measurements sorted by kind, in the order given, each once."""
    serving: list[BenchReport] = []
    parity: list[ParityReport] = []
    for one in found:
        if isinstance(one, BenchReport):
            serving += [one] if one not in serving else []
        else:
            parity += [one] if one not in parity else []
    return Evidence(tuple(serving), tuple(parity))


def evidence_beside(run_folder: Path) -> list[BenchReport | ParityReport]:
    """What lies in a run folder.

    Raises:
        UserError: If a file there is not what its name says.
    """
    return [read_evidence(run_folder / name) for name in EVIDENCE_NAMES if (run_folder / name).is_file()]


def _expanded(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = [path / name for name in EVIDENCE_NAMES if (path / name).is_file()]
    if not found:
        raise ReportError(f"{path}: holds neither {' nor '.join(EVIDENCE_NAMES)}")
    return found


def evidence_of_runs(
    folders: Sequence[Path], fingerprints: Sequence[str | None], files: Sequence[Path]
) -> list[Evidence]:
    """The evidence of each run: what lies in its folder, and what the user named of its checkpoint.

    Args:
        folders: Run folders.
        fingerprints: Fingerprint of each run's checkpoint; None where unknown.
        files: Files that the user named, or folders that hold them.

    Raises:
        UserError: If a file cannot be read, or is of no checkpoint among the runs.
    """
    named = [(path, read_evidence(path)) for file in files for path in _expanded(file)]
    for path, found in named:
        measured = fingerprint_of(found)
        if measured is None or measured not in fingerprints:
            raise ReportError(
                f"{path}: measured checkpoint {str(measured)[:12]}, which none of these runs evaluated; "
                f"put the file into the folder of the run that it belongs to"
            )
    return [
        collect(
            [
                *(evidence_beside(folder) if folder.is_dir() else []),
                *(found for _, found in named if fingerprint is not None and fingerprint_of(found) == fingerprint),
            ]
        )
        for folder, fingerprint in zip(folders, fingerprints, strict=True)
    ]
