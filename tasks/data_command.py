"""`tlive data`: is a folder of your own samples fit to be evaluated, and what does it hold?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tliveomni_eval.tasks.data_statistics import MediaSize, TaskStatistics


@click.group(name="data")
def command() -> None:
    """Check or count a folder of data (`manifest.jsonl` beside its media)."""


@command.command(name="check")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--decode/--no-decode", default=True, help="Also decode images and audio (the default).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(folder: Path, decode: bool, as_json: bool) -> None:
    """Name every fault of FOLDER with its line and field; ends with 1 where there is one."""
    from tliveomni_eval.tasks.manifest import check_folder
    from tliveomni_eval.tasks.media_check import damaged_media
    from tliveomni_eval.tasks.task_index import read_task_index

    samples, faults = check_folder(folder, known_tasks=tuple(read_task_index()))
    if decode:
        faults += damaged_media(folder)
    faults.sort(key=lambda fault: fault.line)
    if as_json:
        listed = [{"line": fault.line, "field": fault.field, "message": fault.message} for fault in faults]
        click.echo(json.dumps({"samples": len(samples), "faults": listed}, indent=2, ensure_ascii=False))
    else:
        for fault in faults:
            click.echo(f"{folder}/manifest.jsonl: {fault}")
        click.echo(f"{len(samples)} good samples, {len(faults)} fault{'' if len(faults) == 1 else 's'}")
    sys.exit(1 if faults else 0)


@command.command(name="stats")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def stats(folder: Path, as_json: bool) -> None:
    """Count the samples, clusters, slices and media of FOLDER by task.

    Faulty lines are left out and counted; ends with 1 where there is one.
    """
    from tliveomni_eval.tasks import data_statistics
    from tliveomni_eval.tasks.manifest import check_folder

    samples, faults = check_folder(folder)
    counted = data_statistics.folder_statistics(folder, samples)
    if as_json:
        tasks = [data_statistics.as_json(task) for task in counted]
        click.echo(json.dumps({"tasks": tasks, "faults": len(faults)}, indent=2, ensure_ascii=False))
    else:
        for task in counted:
            _print_task(task, data_statistics.FEWEST_CLUSTERS)
        if faults:
            click.echo(f"{len(faults)} faults are not counted; `tlive data check {folder}` names them")
    sys.exit(1 if faults else 0)


def _print_task(task: TaskStatistics, fewest: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from tliveomni_eval.evals.gate.printable import printable

    # Names come from the data of others: no markup, and nothing that a terminal obeys.
    console = Console(soft_wrap=True, markup=False)
    clusters = f", {task.clusters} clusters" if task.clusters != task.samples else ", each a cluster of its own"
    console.print(f"{printable(task.task)}: {task.samples} samples{clusters}", style="bold")
    for media in task.media:
        console.print(f"  {_media_line(media)}", highlight=False)
    if task.reference_chars[2]:
        least, median, most = task.reference_chars
        console.print(f"  references {least} to {most} characters, median {median}", highlight=False)
    if task.slices:
        table = Table("slice", "value", "samples", "clusters", "", box=None, padding=(0, 2))
        for column in table.columns[2:4]:
            column.justify = "right"
        last = ""
        for size in task.slices:
            name = "" if size.attribute == last else size.attribute
            mark = "*" if size.too_small else ""
            table.add_row(printable(name), printable(size.value), str(size.samples), str(size.clusters), mark)
            last = size.attribute
        console.print(table)
        if any(size.too_small for size in task.slices):
            console.print(f"  * under {fewest} clusters: no outcome can PASS a budget of 1.5 %", highlight=False)
    else:
        console.print("  no slices", highlight=False)
    console.print()


def _media_line(media: MediaSize) -> str:
    line = f"{media.files} {media.type} file{'s' if media.files != 1 else ''}, {media.megabytes:.1f} MB"
    if media.least is not None and media.median is not None and media.most is not None:
        digits = 1 if media.type == "audio" else 0
        of_what = "" if media.type == "audio" else " on the longer side"
        least, median, most = (f"{value:.{digits}f}" for value in (media.least, media.median, media.most))
        line += f", {least} to {most} {media.unit}{of_what}, median {median}"
    if media.total is not None:
        line += f", {media.total / 60:.1f} min in all"
    if media.unreadable:
        line += f", {media.unreadable} unreadable"
    return line
