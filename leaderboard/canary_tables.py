"""What the runs found out about themselves, as tables of the page."""

from __future__ import annotations

from collections.abc import Sequence

from tliveomni_eval.evals.logs.run_info import RunInfo
from tliveomni_eval.leaderboard.page_data import FactTable


def canary_tables(runs: Sequence[tuple[str, RunInfo | None]]) -> list[FactTable]:
    """One table a run whose canaries sang or were turned off.

    Args:
        runs: Name of each run on the page, with its `run.json` where it has one.
    """
    return [_table(name, info) for name, info in runs if info is not None and (info.canaries or info.canaries_off)]


def _table(name: str, info: RunInfo) -> FactTable:
    notes = ["The canaries were turned off."] if info.canaries_off else []
    if lost := len(info.quarantined):
        notes.append(f"The engine died of {lost} {'sample' if lost == 1 else 'samples'}, which count as errors.")
    held = {"pass": True, "fail": False}
    return FactTable(
        title=name,
        note=" ".join(notes),
        columns=["check", "held", "detail", "value"],
        rows=[
            [
                result.name,
                held.get(result.status),
                result.summary,
                ", ".join(f"{figure} {value:g}" for figure, value in result.figures.items()),
            ]
            for result in info.canaries
        ],
    )
