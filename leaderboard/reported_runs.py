"""Which runs a report is about, read from the folders a user names, and which of them is the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tliveomni_eval.evals.errors import unknown_name_message
from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.run_folder import read_run
from tliveomni_eval.evals.logs.run_info import RUN_INFO_NAME, RunInfo, read_run_info
from tliveomni_eval.leaderboard.evidence import evidence_of_runs
from tliveomni_eval.leaderboard.report_error import ReportError
from tliveomni_eval.leaderboard.run_card import ReportedRun, short_names

UNQUANTIZED_VARIANTS = ("bf16", "fp16", "fp32")
"""Variants that are taken as the baseline where none is named, in this order."""


def run_folders(paths: Sequence[Path]) -> list[Path]:
    """The run folders among `paths`; a folder of runs stands for the runs in it, in order of their names.

    Raises:
        ReportError: If a path does not exist.
    """
    folders: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise ReportError(f"run {str(path)!r} does not exist; name folders that `tlive run` or lmms-eval wrote")
        inside = sorted(found.parent for found in path.glob(f"*/{RUN_INFO_NAME}")) if path.is_dir() else []
        if inside and not (path / RUN_INFO_NAME).exists():
            folders |= dict.fromkeys(inside)
        else:
            folders[path] = None
    return list(folders)


def read_reported_runs(paths: Sequence[Path], evidence: Sequence[Path] = ()) -> list[ReportedRun]:
    """Reads every run; one that cannot be read keeps its place with the reason.

    Args:
        paths: Run folders.
        evidence: Files of `tlive bench` and `tlive parity` on checkpoints of the runs, beside those in their folders.

    Raises:
        ReportError: If fewer than one can be read, or a file of evidence is of no run.
    """
    runs = [_read(path) for path in paths]
    if all(run.run is None for run in runs):
        reasons = "\n  ".join(run.problem for run in runs)
        raise ReportError(f"no run can be read:\n  {reasons}")
    fingerprints = [run.run_info.checkpoint.fingerprint if run.run_info else None for run in runs]
    measured = evidence_of_runs(paths, fingerprints, evidence)
    return [replace(run, evidence=found) for run, found in zip(runs, measured, strict=True)]


def split_baseline(runs: Sequence[ReportedRun], name: str | None) -> tuple[ReportedRun, list[ReportedRun]]:
    """The baseline and the rest, in order.

    Args:
        runs: At least one run.
        name: Short name, variant, run name or folder of the baseline; None chooses an unquantized variant, else the
            first run.

    Raises:
        ReportError: If no run or more than one has the name.
    """
    index = _default_baseline(runs) if name is None else _named(runs, name)
    baseline = runs[index]
    if baseline.run is None:
        raise ReportError(f"the baseline cannot be read: {baseline.problem}")
    return baseline, [run for position, run in enumerate(runs) if position != index]


def _read(path: Path) -> ReportedRun:
    info = _run_info(path)
    try:
        run = read_run(path)
    except LogError as error:
        return ReportedRun(path, None, info, str(error))
    return ReportedRun(path, run, run.run_info)


def _run_info(path: Path) -> RunInfo | None:
    try:
        return read_run_info(path / RUN_INFO_NAME) if path.is_dir() else None
    except LogError:
        return None


def _default_baseline(runs: Sequence[ReportedRun]) -> int:
    for variant in UNQUANTIZED_VARIANTS:
        for index, run in enumerate(runs):
            if variant in (run.variant, run.name) and run.run is not None:
                return index
    return next(index for index, run in enumerate(runs) if run.run is not None)


def _named(runs: Sequence[ReportedRun], name: str) -> int:
    keys = short_names(runs)
    for choices in (keys, [run.variant for run in runs], [run.name for run in runs], [str(run.path) for run in runs]):
        matching = [index for index, choice in enumerate(choices) if choice == name]
        if len(matching) == 1:
            return matching[0]
        if len(matching) > 1:
            raise ReportError(f"--baseline {name!r} names {len(matching)} runs; use one of {', '.join(keys)}")
    raise ReportError(unknown_name_message("baseline", name, keys))
