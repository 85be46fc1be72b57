"""`tlive journal`: what a run's journal holds, whether it is whole, and taking out what is no longer needed."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

_RUN = click.argument("run", type=click.Path(path_type=Path))


@click.group("journal")
def command() -> None:
    """Look after the responses that a run kept: RUN is a run folder, or its journal.sqlite."""


@command.command("inspect")
@_RUN
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def inspect(run: Path, as_json: bool) -> None:
    """Count the responses of RUN by task; it may be running."""
    from rich.console import Console
    from rich.table import Table
    from tliveomni_eval.evals.gate.printable import printable
    from tliveomni_eval.model_adapters.vllm_backend.journal_inspection import journal_path, responses_by_task

    path = journal_path(run)
    found = responses_by_task(path)
    if as_json:
        tasks = [asdict(task) for task in found]
        click.echo(json.dumps({"journal": str(path), "bytes": path.stat().st_size, "tasks": tasks}, indent=2))
        return
    table = Table("task", "responses", "documents", "output tokens", "cut", "empty", box=None, padding=(0, 2))
    for column in table.columns[1:]:
        column.justify = "right"
    for task in found:
        numbers = (task.responses, task.documents, task.output_tokens, task.cut, task.empty)
        table.add_row(printable(task.task), *(f"{number:,}" for number in numbers))
    Console(markup=False, highlight=False, soft_wrap=True).print(table)
    click.echo(f"{sum(task.responses for task in found)} responses in {path.stat().st_size / 1e6:.1f} MB")


@command.command("verify")
@_RUN
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify(run: Path, as_json: bool) -> None:
    """Check that the journal of RUN is whole and that the logs beside it say what it says; ends with 1 otherwise."""
    from tliveomni_eval.evals.gate.printable import printable
    from tliveomni_eval.model_adapters.vllm_backend.journal_inspection import (
        journal_faults,
        journal_path,
        responses_by_task,
    )

    path = journal_path(run)
    faults = journal_faults(path)
    # A journal with broken pages may not even be counted.
    responses = None if faults else sum(task.responses for task in responses_by_task(path))
    if as_json:
        click.echo(json.dumps({"journal": str(path), "responses": responses, "faults": faults}, indent=2))
    else:
        for fault in faults:
            click.echo(printable(fault, 1000))
        click.echo(f"{len(faults)} faults" if faults else f"{responses} responses, no fault")
    sys.exit(1 if faults else 0)


@command.command("prune")
@_RUN
@click.option("--task", help="Responses of this task.")
@click.option("--superseded", is_flag=True, help="Responses to a document that has a newer one.")
@click.option("--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="Responses written longer ago.")
@click.option("--dry-run", is_flag=True, help="Say how many would go.")
def prune(run: Path, task: str | None, superseded: bool, older_than: float | None, dry_run: bool) -> None:
    """Take responses out of the journal of RUN; options that are given must all hold. The logs are not touched."""
    from tliveomni_eval.model_adapters.vllm_backend.journal_inspection import journal_path, prune_journal

    path = journal_path(run)
    if task is None and not superseded and older_than is None:
        raise click.UsageError("say what is to go: --task, --superseded or --older-than")
    count = prune_journal(path, task, superseded, older_than, dry_run)
    click.echo(f"{count} responses {'would be ' if dry_run else ''}taken out of {path}")
