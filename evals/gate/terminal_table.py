"""The verdict on a terminal: what a user sees first."""

from __future__ import annotations

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
_WIDE_ENOUGH_FOR_VALUES = 100
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
    console.print(_table(verdict, shown, notes, console.width))
    for note, number in notes.items():
        console.print(Text(f" {number} {printable(note, _LONGEST_MESSAGE)}", style="dim"))
    if hidden := all_rows[len(shown) :]:
        words = ", ".join(f"{sum(row.verdict.outcome == word for row in hidden)} {word}" for word in SYMBOLS)
        console.print(Text(f" {len(hidden)} more slices ({words}): --all shows them", style="dim"))
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


def _table(verdict: Verdict, shown: list[Row], notes: dict[str, str], width: int) -> Table:
    several_tasks = len({item.task for item in verdict.slices}) > 1
    several_metrics = len({item.metric for item in verdict.slices}) > 1
    with_budget = shared_budget(verdict.slices) is None
    with_values = width >= _WIDE_ENOUGH_FOR_VALUES
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("verdict", no_wrap=True)
    for wanted, heading in ((several_tasks, "task"), (True, "slice"), (several_metrics, "metric")):
        if wanted:
            table.add_column(heading, overflow="fold")
    for wanted, heading in (
        (with_values, "baseline → candidate"),
        (True, "loss"),
        (True, f"{shared_confidence(verdict.slices)} interval"),
        (with_budget, "budget"),
        (True, "samples"),
        (True, "flips"),
        (verdict.noise_run is not None, "flip rate | A/A"),
        (True, "clusters to decide"),
    ):
        if wanted:
            table.add_column(heading, justify="right", no_wrap=True)
    was_gated = True
    for row in shown:
        if was_gated and not row.verdict.gated:
            table.add_section()
            table.add_row(Text("too few clusters to gate, reported only", style="dim italic"))
        was_gated = row.verdict.gated
        cells = [Text(row.word, style=STYLES[row.verdict.outcome])]
        cells += [Text(printable(row.verdict.task))] if several_tasks else []
        cells.append(Text(printable(row.verdict.slice)))
        cells += [Text(printable(row.verdict.metric))] if several_metrics else []
        cells += [Text(row.value)] if with_values else []
        mark = f" {notes[row.verdict.note]}" if row.verdict.note in notes else ""
        cells += [Text(row.loss), Text(row.interval + mark)]
        cells += [Text(row.budget)] if with_budget else []
        cells += [Text(row.size), Text(row.flips)]
        cells += [Text(noise_text(row.verdict))] if verdict.noise_run is not None else []
        cells.append(Text(row.to_decide))
        table.add_row(*cells, style="" if row.verdict.gated else "dim")
    return table


def _numbered_notes(shown: list[Row]) -> dict[str, str]:
    marks = "¹²³⁴⁵⁶⁷⁸⁹"
    notes = dict.fromkeys(row.verdict.note for row in shown if row.verdict.note and row.verdict.gated)
    return dict(zip(notes, marks, strict=False))
