"""`tlive store`: keep runs in a store, list them, delete them, rebuild its catalogue."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

store_option = click.option(
    "--store",
    "folder",
    default="tlive-store",
    envvar="TLIVE_STORE",
    show_default=True,
    show_envvar=True,
    type=click.Path(path_type=Path),
    help="Folder of the store.",
)


@click.group("store")
def command() -> None:
    """Keep runs: Parquet files of samples and a DuckDB catalogue, in one folder that several processes may use."""


@command.command("add")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", type=click.Path(path_type=Path))
@click.option("--media-root", "roots", multiple=True, type=click.Path(path_type=Path), help="A further media folder.")
@store_option
def add(runs: tuple[Path, ...], roots: tuple[Path, ...], folder: Path) -> None:
    """Add runs; a run that is there already is not added again. A folder of runs stands for the runs in it."""
    from tliveomni_eval.leaderboard.reported_runs import run_folders
    from tliveomni_eval.leaderboard.store.run_store import RunStore
    from tliveomni_eval.leaderboard.store.store_error import StoreError

    folders = run_folders(runs)
    refused = 0
    for added in RunStore(folder).add_all(folders, roots):
        if added.problem:
            refused += 1
            click.echo(f"refused  {added.problem}", err=True)
        else:
            click.echo(f"{'added   ' if added.is_new else 'known   '} {added.run_id}  {added.path}")
    if refused:
        raise StoreError(f"{refused} of {len(folders)} runs were not added")


@command.command("attach")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@store_option
def attach(files: tuple[Path, ...], folder: Path) -> None:
    """Attach bench.json and parity.json to every run of the checkpoint that they measured."""
    from tliveomni_eval.leaderboard.store.run_store import RunStore
    from tliveomni_eval.leaderboard.store.stored_evidence import keep_evidence

    store = RunStore(folder)
    for path in files:
        target, is_new = keep_evidence(store.folder, path)
        click.echo(f"{'attached' if is_new else 'known   '} {target.name}  {path}")


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a run.")
@store_option
def list_runs(as_json: bool, folder: Path) -> None:
    """List the runs, newest first."""
    from dataclasses import asdict

    from rich.console import Console
    from rich.table import Table
    from tliveomni_eval.evals.gate.printable import printable
    from tliveomni_eval.leaderboard.store.run_store import RunStore

    runs = RunStore(folder).runs()
    if as_json:
        for run in runs:
            click.echo(json.dumps(asdict(run), default=str))
        return
    table = Table(box=None)
    for heading in ("id", "name", "variant", "started", "samples", "s"):
        table.add_column(heading, justify="right" if heading in ("samples", "s") else "left")
    for run in runs:
        seconds = "" if run.duration_s is None else f"{run.duration_s:.0f}"
        started = f"{run.started:%Y-%m-%d %H:%M}"
        table.add_row(run.run_id, printable(run.name), printable(run.variant or ""), started, str(run.samples), seconds)
    Console(markup=False, highlight=False).print(table)


@command.command("delete")
@click.argument("runs", nargs=-1, metavar="[RUN…]")
@click.option("--keep", type=click.IntRange(min=1), help="Retention: keep this many newest runs of each variant.")
@click.option("--older-than", "days", type=click.FloatRange(min=0), metavar="DAYS", help="Retention: older runs only.")
@click.option("--dry-run", is_flag=True, help="Say what would go.")
@store_option
def delete(runs: tuple[str, ...], keep: int | None, days: float | None, dry_run: bool, folder: Path) -> None:
    """Delete runs by id or name, or by a retention rule. Run folders outside the store are not touched."""
    from tliveomni_eval.evals.gate.printable import printable
    from tliveomni_eval.leaderboard.store.run_store import RunStore

    if bool(runs) == (keep is not None or days is not None):
        raise click.UsageError("name runs, or give a retention rule (--keep, --older-than), one of the two")
    store = RunStore(folder)
    if runs:
        doomed = [store.find(name) for name in runs]
    else:
        doomed = store.expired(keep, None if days is None else timedelta(days=days), datetime.now(UTC))
    for run in doomed:
        click.echo(f"{'would delete' if dry_run else 'deleted'}  {run.run_id}  {printable(run.name)}")
    if not dry_run:
        store.delete(run.run_id for run in doomed)


@command.command("rebuild")
@store_option
def rebuild(folder: Path) -> None:
    """Make the catalogue anew from the runs in the store."""
    from tliveomni_eval.leaderboard.store.run_store import RunStore

    click.echo(f"{RunStore(folder).rebuild()} runs in the catalogue of {folder}")


@command.command("query")
@click.argument("sql")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="json: one object a row.",
)
@store_option
def query(sql: str, form: str, folder: Path) -> None:
    """Query the store in SQL (DuckDB): tables runs, results, media, and samples with one row a sample.

    Example: "SELECT name, num / den AS rate FROM results JOIN runs USING (run_id) WHERE headline AND value = 'price'"
    """
    from rich.console import Console
    from rich.table import Table
    from tliveomni_eval.evals.gate.printable import printable
    from tliveomni_eval.leaderboard.store.store_error import StoreError
    from tliveomni_eval.leaderboard.store.store_query import query_store

    if not (folder / "runs").is_dir():
        raise StoreError(f"{folder} is no store; `tlive store add RUN… --store {folder}` makes one")
    found = query_store(folder, sql)
    if form == "csv":
        click.echo(found.to_csv(index=False), nl=False)
    elif form == "json":
        click.echo(found.to_json(orient="records", lines=True, date_format="iso", force_ascii=False), nl=False)
    else:
        table = Table(*(printable(str(name)) for name in found.columns))
        for row in found.itertuples(index=False):
            table.add_row(*(printable(str(value)) for value in row))
        Console(markup=False, highlight=False).print(table)
