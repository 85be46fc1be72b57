"""The verdict on a terminal: what a user sees first."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text
from tliveomni_eval.evals.gate.printable import printable
from tliveomni_eval.evals.gate.verdict import GateReport, Outcome, Verdict
from tliveomni_eval.evals.gate.verdict_rows import (
    SYMBOLS,
    Row,
    noise_text,
    overlap_text,
    rows,
    shared_budget,
    shared_confidence,
)

STYLES: dict[Outcome, str] = {
    "PASS": "green",
    "BREACH": "bold red",
    "INCONCLUSIVE": "yellow",
    "MISSING": "bold magenta",
}
_LONGEST_MESSAGE = 600


def print_report(report: GateReport, console: Console, most_rows: int | None = 40) -> None:
    """Prints a table a candidate, then one closing line each.

    Args:
        report: The result.
        console: Where to print.
        most_rows: Most slices a table shows, worst first; None for all.
    """
    for verdict in report.verdicts:
        console.print()
        _print_verdict(verdict, console, most_rows)
    console.print()
    for verdict in report.verdicts:
        word = Text(f"{SYMBOLS[verdict.outcome]} {verdict.outcome}", style=STYLES[verdict.outcome])
        closing = Table.grid(padding=(0, 2, 0, 0))
        closing.add_row(word, Text(printable(verdict.summary, _LONGEST_MESSAGE)))
        console.print(closing)


def _print_verdict(verdict: Verdict, console: Console, most_rows: int | None) -> None:
    console.print(_title(verdict))
    for problem in verdict.problems:
        style, mark = ("dim", "allowed") if problem.allowed else (STYLES["MISSING"], SYMBOLS["MISSING"])
        line = Text(f"{mark} ", style=style)
        line.append(f"{problem.field}: ", style="bold")
        if problem.task:
            line.append(f"{printable(problem.task)}: ")
        console.print(line.append(printable(problem.message, _LONGEST_MESSAGE)))
    if not verdict.slices:
        return
    all_rows = rows(verdict)
    shown = all_rows if most_rows is None else all_rows[:most_rows]
    notes = _numbered_notes(shown)
    console.print(_table(verdict, shown, notes, console))
    for note, number in notes.items():
        console.print(Text(f" {number} {printable(note, _LONGEST_MESSAGE)}", style="dim"))
    if hidden := all_rows[len(shown) :]:
        words = ", ".join(f"{sum(row.verdict.outcome == word for row in hidden)} {word}" for word in SYMBOLS)
        console.print(Text(f" {len(hidden)} more slices ({words}): --all shows them", style="dim"))
    if not all(row.verdict.gated for row in shown):
        console.print(Text(" not gated: fewer clusters than `min_clusters` of the policy; reported only", style="dim"))
    if remark := overlap_text(verdict):
        console.print(Text(f" {remark}", style="dim"))


def _title(verdict: Verdict) -> Text:
    title = Text()
    title.append(printable(verdict.candidate.name), style="bold")
    title.append(" against ")
    title.append(printable(verdict.baseline.name), style="bold")
    tasks = dict.fromkeys((item.task, item.metric) for item in verdict.slices)
    if len(tasks) == 1:
        task, metric = next(iter(tasks))
        title.append(f" · {printable(task)} {printable(metric)}")
    if verdict.slices:
        budget = shared_budget(verdict.slices)
        title.append(f" · budget {budget}" if budget else "")
    if verdict.noise_run is not None:
        title.append(f" · noise from {printable(verdict.noise_run.name)}")
    return title


_GAP = 2
_VALUE = "baseline → candidate"
_DROPPED_FIRST = (_VALUE, "flips", "flip rate | A/A", "budget", "more clusters")
"""Columns that a terminal too narrow for all goes without, in this order."""


def _table(verdict: Verdict, shown: list[Row], notes: dict[str, str], console: Console) -> Table:
    columns = _columns(verdict, shown, notes)
    for dropped in ("", *_DROPPED_FIRST):
        columns.pop(dropped, None)
        widths = (max(cell_len(heading), *(cell.cell_len for cell in cells)) for heading, cells in columns.items())
        if sum(widths) + _GAP * len(columns) <= console.width:
            break
    return _table_of(columns, shown)


def _columns(verdict: Verdict, shown: list[Row], notes: dict[str, str]) -> dict[str, list[Text]]:
    """Heading to the cells below it, for the columns in which the slices differ."""
    slices = verdict.slices
    interval = f"{shared_confidence(slices)} interval"
    marks = [notes.get(row.verdict.note, "") if row.verdict.gated else "" for row in shown]
    columns = {
        "verdict": [Text(row.word, style=STYLES[row.verdict.outcome]) for row in shown],
        "task": [Text(printable(row.verdict.task)) for row in shown],
        "slice": [Text(printable(row.verdict.slice)) for row in shown],
        "metric": [Text(printable(row.verdict.metric)) for row in shown],
        _VALUE: [Text(row.value) for row in shown],
        "loss": [Text(row.loss) for row in shown],
        interval: [Text(f"{row.interval} {mark}".rstrip()) for row, mark in zip(shown, marks, strict=True)],
        "budget": [Text(row.budget) for row in shown],
        "samples": [Text(row.size) for row in shown],
        "flips": [Text(row.flips) for row in shown],
        "flip rate | A/A": [Text(noise_text(row.verdict)) for row in shown],
        "more clusters": [Text(row.to_decide) for row in shown],
    }
    unneeded = {
        "task": len({item.task for item in slices}) == 1,
        "metric": len({item.metric for item in slices}) == 1,
        "budget": shared_budget(slices) is not None,
        "flip rate | A/A": verdict.noise_run is None,
        "more clusters": not any(row.to_decide for row in shown),
    }
    return {heading: cells for heading, cells in columns.items() if not unneeded.get(heading, False)}


def _table_of(columns: dict[str, list[Text]], shown: list[Row]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for heading in columns:
        if heading in ("task", "slice", "metric"):
            table.add_column(heading, overflow="fold", min_width=10)
        else:
            table.add_column(Text(heading), justify="left" if heading == "verdict" else "right", no_wrap=True)
    for position, row in enumerate(shown):
        table.add_row(*(cells[position] for cells in columns.values()), style="" if row.verdict.gated else "dim")
    return table


def _numbered_notes(shown: list[Row]) -> dict[str, str]:
    marks = "¹²³⁴⁵⁶⁷⁸⁹"
    notes = dict.fromkeys(row.verdict.note for row in shown if row.verdict.note and row.verdict.gated)
    return dict(zip(notes, marks, strict=False))
