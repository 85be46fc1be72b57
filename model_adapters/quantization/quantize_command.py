"""`tlive quantize`."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import click
from tliveomni_eval.evals.errors import UserError


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
    list_recipes: bool,
    as_json: bool,
) -> None:
    """Make a quantized checkpoint that vLLM loads.

    Runs in its own environment, because llm-compressor and vLLM need different versions of compressed-tensors:
    `make quantize` builds it in .venv-quantize and makes the embedded variants; then
    `.venv-quantize/bin/tlive quantize …` quantizes any checkpoint.
    """
    from tliveomni_eval.model_adapters.quantization.recipe import load_recipe, recipe_names, with_changes

    if list_recipes:
        for name in recipe_names():
            click.echo(f"{name}\n    {load_recipe(name).description.strip()}")
        return
    if model is None or recipe_name is None or out is None:
        raise click.UsageError("--model, --recipe and --out are all needed (or --list)")
    recipe = with_changes(load_recipe(recipe_name), include=include, samples=samples, first_seed=first_seed)
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
        return
    from rich.console import Console

    Console().print(quantization_table(record))


def _quiet_llm_compressor() -> None:
    """Leaves llm-compressor's progress bars and errors, without a line for every module."""
    os.environ.setdefault("LLM_COMPRESSOR_LOG_LEVEL", "ERROR")
