"""`tlive tasks`: what there is to evaluate."""

from __future__ import annotations

import json

import click


@click.command(name="tasks")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List our tasks and groups with headline metric, slices and size of the embedded set."""
    from tliveomni_eval.tasks.task_index import TASK_FOLDER, read_task_index

    index = read_task_index()
    if as_json:
        rows = [
            {
                "name": entry.name,
                "members": list(entry.members),
                "metrics": list(entry.metrics),
                "embedded_samples": entry.embedded_samples,
                **{key: value for key, value in entry.metadata.items() if key != "version"},
            }
            for entry in index.values()
        ]
        click.echo(json.dumps({"include_path": str(TASK_FOLDER), "tasks": rows}, indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("task", "headline", "other metrics", "slices", "modality", "embedded samples")
    for entry in index.values():
        headline = str(entry.metadata.get("headline", ""))
        table.add_row(
            entry.name,
            headline,
            ", ".join(metric for metric in entry.metrics if metric != headline) or f"group: {', '.join(entry.members)}",
            ", ".join(entry.metadata.get("slices", ())),
            str(entry.metadata.get("modality", "")),
            f"{entry.embedded_samples:,}" if entry.embedded_samples else "",
        )
    Console().print(table)
    click.echo("lmms-eval --tasks finds these after install. `lmms-eval tasks list` loads no plugin; there, add:")
    click.echo(f"  --include_path {TASK_FOLDER}")
