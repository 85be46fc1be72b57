"""The plan of a run on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text
from tliveomni_eval.evals.gate.printable import printable
from tliveomni_eval.evals.gate.run_plan import PlannedSlice, Supposition
from tliveomni_eval.evals.gate.summary import percent


def print_plan(planned: list[PlannedSlice], supposed: Supposition, console: Console) -> None:
    """Prints what every slice needs, and one closing line.

    Args:
        planned: At least one slice, the one that lacks most first.
        supposed: What is supposed about the candidate.
        console: Where to print.
    """
    console.print(
        Text(
            f"Supposed: a true loss of {percent(supposed.loss)}, {percent(supposed.flip_rate)} of the clusters change; "
            f"a verdict with a probability of {100 * supposed.power:g} %."
        )
    )
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    from_run = bool(planned[0].task)
    if from_run:
        for heading in ("task", "slice", "metric"):
            table.add_column(heading, overflow="fold")
    for heading in ("quality", "budget", *(["clusters"] if from_run else []), "could PASS from", "needed", "more"):
        table.add_column(Text(heading), justify="right", no_wrap=True)
    for item in planned:
        plan = item.plan
        missing = plan.missing_clusters
        cells = [printable(item.task), printable(plan.slice), printable(item.metric)] if from_run else []
        cells += [percent(plan.quality, 1), percent(item.rule.budget)]
        cells += [f"{plan.present_clusters:,}"] if from_run else []
        cells += [_number(plan.minimum_clusters), _number(plan.needed_clusters)]
        cells.append("enough" if missing == 0 else _number(missing))
        style = "green" if missing == 0 else "yellow" if missing is not None else "red"
        table.add_row(*(Text(cell) for cell in cells[:-1]), Text(cells[-1], style=style))
    console.print(table)
    console.print(Text(_closing(planned, from_run)))


def _closing(planned: list[PlannedSlice], from_run: bool) -> str:
    worst = planned[0].plan
    if worst.needed_clusters is None:
        return "A loss this close to the budget cannot be decided by any reasonable number of clusters."
    if not from_run:
        return f"{worst.needed_clusters:,} clusters in every slice would decide."
    short = [item for item in planned if item.plan.missing_clusters]
    if not short:
        return "Every slice is large enough."
    name = f"{printable(planned[0].task)} {printable(worst.slice)}"
    return (
        f"{len(short)} of {len(planned)} slices are too small; {name} needs {worst.missing_clusters:,} more clusters."
    )


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
