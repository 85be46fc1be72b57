"""`tlive data`: is a folder of your own samples fit to be evaluated?"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click


@click.group(name="data")
def command() -> None:
    """Check a folder of your own data (`manifest.jsonl` beside its media)."""


@command.command(name="check")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--decode/--no-decode", default=True, help="Also decode every image (the default).")
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
