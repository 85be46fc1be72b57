"""`tlive models`: what can be evaluated."""

from __future__ import annotations

import json

import click


@click.command(name="models")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List our lmms-eval models and the embedded checkpoints by variant."""
    from tliveomni_eval.model_adapters.model_index import MODELS
    from tliveomni_eval.model_adapters.nano.embedded_checkpoints import VARIANTS, checkpoint_path

    sizes = {}
    for variant in VARIANTS:
        files = [file for file in checkpoint_path(variant).rglob("*") if file.is_file()]
        sizes[variant] = sum(file.stat().st_size for file in files)
    if as_json:
        models = [{"name": name, "class": path, "description": text} for name, (path, text) in MODELS.items()]
        variants = [
            {"variant": name, "path": str(checkpoint_path(name)), "bytes": size} for name, size in sizes.items()
        ]
        click.echo(json.dumps({"models": models, "variants": variants}, indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    models_table = Table("lmms-eval --model", "what it is")
    for name, (_, text) in MODELS.items():
        models_table.add_row(name, text)
    variants_table = Table("variant of TLiveOmni-nano", "size", "--model_args")
    for name, size in sizes.items():
        variants_table.add_row(name, f"{size / 2**20:.1f} MiB", f"variant={name}")
    console = Console()
    console.print(models_table)
    console.print(variants_table)
    click.echo("Any Qwen3-VL-family checkpoint: --model_args model=FOLDER")
