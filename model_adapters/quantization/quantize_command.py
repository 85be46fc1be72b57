"""`tlive quantize`."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from tliveomni_eval.evals.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tliveomni_eval.model_adapters.quantization.recipe import Recipe
    from tliveomni_eval.model_adapters.quantization.until_pass import Attempt, Search, Workshop


@click.command(name="quantize")
@click.option(
    "--model", type=click.Path(path_type=Path), metavar="FOLDER", help="16-bit checkpoint with its processor."
)
@click.option("--recipe", "recipe_name", metavar="NAME|FILE", help="Recipe of the package, or a YAML file.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Where the quantized checkpoint goes.")
@click.option("--include", "include", multiple=True, metavar="PART", help="Quantize this part of the model too.")
@click.option(
    "--calibration",
    "calibration_folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Calibrate on a folder of `tlive calibrate` instead of the recipe's samples.",
)
@click.option("--samples", type=click.IntRange(min=1), help="Calibration samples instead of the recipe's number.")
@click.option("--first-seed", type=click.IntRange(min=0), help="First calibration seed instead of the recipe's.")
@click.option("--probe-samples", type=click.IntRange(min=0), default=16, show_default=True, help="Measure on so many.")
@click.option("--scan", is_flag=True, help="Quantize nothing: measure each block quantized alone, by ability.")
@click.option("--keep", type=click.IntRange(min=0), default=1, show_default=True,
              help="With --scan: blocks that the proposal leaves at 16 bit.")  # fmt: skip
@click.option("--until-pass", "policy", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="POLICY",
              help="Raise precision by the scan until this policy passes; runs where vLLM is installed.")  # fmt: skip
@click.option("--tasks", default="live_ocr", show_default=True, help="With --until-pass: what is run and gated.")
@click.option("--limit", type=click.IntRange(min=1), help="With --until-pass: first samples of each task only.")
@click.option("--list", "list_recipes", is_flag=True, help="List the recipes of the package.")
@click.option("--json", "as_json", is_flag=True, help="Print quantization.json instead of a table.")
def command(
    model: Path | None,
    recipe_name: str | None,
    out: Path | None,
    include: tuple[str, ...],
    calibration_folder: Path | None,
    samples: int | None,
    first_seed: int | None,
    probe_samples: int,
    scan: bool,
    keep: int,
    policy: Path | None,
    tasks: str,
    limit: int | None,
    list_recipes: bool,
    as_json: bool,
) -> int:
    """Make a quantized checkpoint that vLLM loads.

    Runs in its own environment, because llm-compressor and vLLM need different versions of compressed-tensors:
    `make quantize` builds it in .venv-quantize and makes the embedded variants; then
    `.venv-quantize/bin/tlive quantize …` quantizes any checkpoint.
    """
    from tliveomni_eval.model_adapters.quantization.recipe import load_recipe, recipe_names, with_changes

    if list_recipes:
        for name in recipe_names():
            click.echo(f"{name}\n    {load_recipe(name).description.strip()}")
        return 0
    if model is None or recipe_name is None or (out is None and not scan):
        raise click.UsageError("--model, --recipe and --out are all needed (or --list, or --scan without --out)")
    recipe = with_changes(load_recipe(recipe_name), include=include, samples=samples, first_seed=first_seed)
    if scan:
        _scan(model, recipe, probe_samples, keep, as_json)
        return 0
    assert out is not None
    if policy is not None:
        from tliveomni_eval.model_adapters.quantization.sensitivity_scan import scan_blocks
        from tliveomni_eval.model_adapters.quantization.until_pass import Workshop, quantize_command, search

        quantize_command()
        scanned = scan_blocks(model, recipe, max(1, probe_samples), 0, announce=lambda step: click.echo(step, err=True))
        shop = Workshop(model, recipe, out, policy, tasks, limit, calibration_folder, scanned.members)
        order = [block.block for block in scanned.blocks]
        return _report_search(search(order, lambda kept: _announced(shop, kept)), as_json)
    if importlib.util.find_spec("llmcompressor") is None:
        raise UserError(
            "llm-compressor is not installed in this environment, and cannot be beside vLLM. In the project's folder, "
            "`make quantize-environment` builds .venv-quantize for it; then run .venv-quantize/bin/tlive quantize …"
        )
    from tliveomni_eval.model_adapters.quantization.quantization_table import quantization_table
    from tliveomni_eval.model_adapters.quantization.quantize_checkpoint import quantize_checkpoint

    _quiet_llm_compressor()
    record = quantize_checkpoint(
        model,
        recipe,
        out,
        announce=lambda step: click.echo(step, err=True),
        probe_samples=probe_samples,
        calibration_folder=calibration_folder,
    )
    if as_json:
        click.echo(record.model_dump_json(indent=2))
        return 0
    from rich.console import Console

    Console().print(quantization_table(record))
    return 0


def _announced(shop: Workshop, kept: Sequence[str]) -> Attempt:
    click.echo(f"quantizing, running and gating with {len(kept)} blocks at 16 bit", err=True)
    attempt = shop.attempt(kept)
    click.echo(f"  {attempt.outcome}: {attempt.summary}", err=True)
    return attempt


def _report_search(found: Search, as_json: bool) -> int:
    last = found.attempts[-1]
    if as_json:
        click.echo(found.model_dump_json(indent=2))
    elif found.result == "passed":
        click.echo(f"PASS with {len(last.kept)} blocks at 16 bit: {', '.join(last.kept) or 'none'}")
    elif found.result == "too_few_samples":
        click.echo(
            "cannot be reached with these samples, whatever the precision: no outcome at all could PASS in "
            f"{', '.join(last.hopeless[:5])}{' …' if len(last.hopeless) > 5 else ''} (`tlive gate plan` says how many "
            "clusters could)"
        )
    else:
        click.echo(f"not reached: {last.outcome} with {len(last.kept)} blocks at 16 bit. {last.summary}")
    return 0 if found.result == "passed" else 1


def _scan(model: Path, recipe: Recipe, samples: int, keep: int, as_json: bool) -> None:
    import yaml
    from rich.console import Console
    from rich.table import Table
    from tliveomni_eval.model_adapters.quantization.sensitivity_scan import scan_blocks

    report = scan_blocks(model, recipe, max(1, samples), keep, announce=lambda step: click.echo(step, err=True))
    if as_json:
        click.echo(report.model_dump_json(indent=2))
        return
    abilities = list(report.samples)
    table = Table("quantized alone", title=f"{recipe.name}: KL in nats a token (changed tokens)")
    for name in ("linears", *abilities):
        table.add_column(name, justify="right")
    for row in (*report.blocks, report.whole):
        cells = [f"{row.kl_divergence[name]:.5f} ({row.changed_tokens[name]:.1%})" for name in abilities]
        table.add_row(".".join(row.block.split(".")[-3:]), str(row.linears), *cells)
    console = Console()
    console.print(table)
    if report.proposal:
        click.echo("to leave the most sensitive at 16 bit, add to the recipe:")
        click.echo(yaml.safe_dump({"overrides": report.proposal}, sort_keys=False).rstrip())


def _quiet_llm_compressor() -> None:
    """Leaves llm-compressor's progress bars and errors, without a line for every module."""
    os.environ.setdefault("LLM_COMPRESSOR_LOG_LEVEL", "ERROR")
