"""`tlive circular`: what CircularEval says about one run, beyond the numbers in lmms-eval's table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tliveomni_eval.evals.logs.task_log import TaskLog
    from tliveomni_eval.evals.metrics.circular_eval import CircularReport, RotationAnswer
    from tliveomni_eval.evals.metrics.circular_intervals import Interval
    from tliveomni_eval.evals.record import Counts


@click.command(name="circular")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--task", "names", multiple=True, help="Only this task; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(run: Path, names: tuple[str, ...], as_json: bool) -> None:
    """Report CircularEval accuracy, position bias and categories of RUN, with 95 % intervals by question."""
    from tliveomni_eval.evals.errors import UserError
    from tliveomni_eval.evals.logs.run_folder import read_run
    from tliveomni_eval.evals.metrics.circular_eval import circular_report
    from tliveomni_eval.evals.metrics.circular_intervals import clustered_intervals

    logs = {
        name: log
        for name, log in read_run(run, names or None).tasks.items()
        if "circular" in log.metrics or name in names
    }
    if not logs:
        raise UserError(f"{run}: no log of a CircularEval task (mmbench_circular_mini, …) is there")
    printed = {}
    for name, log in logs.items():
        answers = _answers(log)
        try:
            report, intervals = circular_report(answers), clustered_intervals(answers)
        except ValueError as error:
            raise UserError(f"{log.path}: {error}") from None
        if as_json:
            printed[name] = report.logged() | {"intervals": _all_intervals(report, intervals)}
        else:
            _print_tables(name, report, _all_intervals(report, intervals))
    if as_json:
        click.echo(json.dumps(printed, indent=2, ensure_ascii=False))


def _answers(log: TaskLog) -> list[RotationAnswer]:
    from tliveomni_eval.evals.logs.log_error import LogError
    from tliveomni_eval.evals.metrics.circular_eval import RotationAnswer

    answers = []
    for position in range(len(log)):
        detail: Mapping[str, Any] = log.sample(position)["record"].get("detail") or {}
        try:
            answers.append(
                RotationAnswer(
                    int(detail["index"]),
                    dict(detail["options"]),
                    str(detail["answer"]),
                    detail["chosen"],
                    str(detail.get("category", "")),
                    str(detail.get("l2_category", "")),
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            raise LogError(
                f"record.detail is not that of a CircularEval task: {type(error).__name__} {error}",
                log.path,
                int(log.line_numbers[position]),
            ) from None
    return answers


def _all_intervals(report: CircularReport, clustered: Mapping[str, Interval]) -> dict[str, Interval | None]:
    from tliveomni_eval.evals.metrics.circular_intervals import rate_interval
    from tliveomni_eval.evals.record import Counts

    # Who is right under all rotations is right under the first, so the difference is a share of questions as well.
    luck = Counts(report.vanilla.num - report.circular.num, report.circular.den)
    by_question: dict[str, Counts] = {
        "circular": report.circular,
        "vanilla": report.vanilla,
        "difference": luck,
        "consistency": report.consistency,
        **{f"l2_category={name}": counts for name, counts in report.by_l2_category.items()},
        **{f"category={name}": counts for name, counts in report.by_category.items()},
    }
    return {name: rate_interval(counts) for name, counts in by_question.items()} | dict(clustered)


def _print_tables(task: str, report: CircularReport, intervals: Mapping[str, Interval | None]) -> None:
    from rich.console import Console
    from rich.table import Column, Table

    console = Console()
    table = Table(
        Column("", overflow="fold"), "value", "95 % interval", "of", title=f"{task}: CircularEval", title_justify="left"
    )

    def add(label: str, value: float | None, name: str, of: str = "") -> None:
        interval = intervals.get(name)
        table.add_row(
            label, _percent(value), f"{_percent(interval[0])} … {_percent(interval[1])}" if interval else "", of
        )

    questions = f"{report.circular.den:,.0f} questions"
    add("circular accuracy", report.circular.rate, "circular", questions)
    add("vanilla accuracy (first rotation)", report.vanilla.rate, "vanilla", questions)
    add("vanilla minus circular", report.difference, "difference")
    add("consistency (one text under all rotations)", report.consistency.rate, "consistency", questions)
    add("does not resolve", report.unparsed.rate, "unparsed", f"{report.unparsed.den:,.0f} requests")
    add("position bias (deviation of the rows below)", report.position_bias, "")
    table.add_section()
    for letter, counts in sorted(report.by_position.items()):
        chosen = _percent(report.chosen_share.get(letter, 0.0))
        add(f"right option is {letter}", counts.rate, f"position={letter}", f"{counts.den:,.0f}; chosen in {chosen}")
    for kind, by_name in (("l2_category", report.by_l2_category), ("category", report.by_category)):
        table.add_section()
        for name, counts in sorted(by_name.items()):
            add(name or "(no category)", counts.rate, f"{kind}={name}", f"{counts.den:,.0f}")
    console.print(table)
    if report.missing:
        named = ", ".join(map(str, report.missing[:5])) + (", …" if len(report.missing) > 5 else "")
        console.print(f"Without all rotations, and in none of these numbers: {len(report.missing)} ({named})")


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"
