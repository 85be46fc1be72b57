"""`tlive calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

DEFAULT_SAMPLES = 5_000


@click.command(name="calibrate")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR…")
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Folder to make.")
@click.option("--samples", type=click.IntRange(min=1), default=DEFAULT_SAMPLES, show_default=True, help="How many.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the draw.")
@click.option(
    "--evaluation",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Evaluation data that nothing may come from, besides the embedded sets. Repeatable.",
)
@click.option(
    "--measure",
    type=click.Path(path_type=Path),
    metavar="GATE.json",
    help="Weigh slices by what they lost (`tlive gate --json`) instead of by declared sensitivity.",
)
@click.option(
    "--precision-weight",
    type=click.FloatRange(min=1.0, max=100.0),
    default=2.0,
    show_default=True,
    help="Weight of a task that declares precision; perception has 1.",
)
@click.option("--json", "as_json", is_flag=True, help="Print calibration.json instead of tables.")
def command(
    sources: tuple[Path, ...],
    out: Path,
    samples: int,
    seed: int,
    evaluation: tuple[Path, ...],
    measure: Path | None,
    precision_weight: float,
    as_json: bool,
) -> None:
    """Choose the samples that a quantized model is calibrated on.

    From data folders (docs/data.md) of any size: every task, instruction template, modality, language and size occurs,
    precision-sensitive tasks more often; near duplicates and evaluation data are left out and reported. `tlive quantize
    --calibration DIR` reads the result.
    """
    from rich.console import Console
    from tliveomni_eval.model_adapters.calibration.calibration_report import print_report
    from tliveomni_eval.model_adapters.calibration.calibration_set import Request, write_calibration_set
    from tliveomni_eval.model_adapters.calibration.candidate_pool import draw_candidates
    from tliveomni_eval.model_adapters.calibration.evaluation_index import index_evaluation
    from tliveomni_eval.model_adapters.calibration.manifest_scan import scan_manifests
    from tliveomni_eval.model_adapters.calibration.sensitivity import Weights, declared_weights, measured_weights
    from tliveomni_eval.tasks.data_location import EMBEDDED_DATA
    from tliveomni_eval.tasks.manifest import MANIFEST_NAME
    from tliveomni_eval.tasks.task_index import read_task_index
    from tqdm import tqdm

    index = read_task_index()
    measured = measured_weights(measure) if measure else {}
    weights = Weights(declared_weights(index, precision_weight), measured)
    held_out = [path.parent for path in sorted(EMBEDDED_DATA.glob(f"*/{MANIFEST_NAME}"))] + list(evaluation)
    sizes = [(folder / MANIFEST_NAME) for folder in sources]
    total = 2 * sum(path.stat().st_size for path in sizes if path.is_file())
    with tqdm(total=total, desc="reading manifests", unit="B", unit_scale=True) as bar:
        scan = scan_manifests(sources, weights, lambda count: _advance(bar, count))
    with tqdm(desc="reading evaluation data", unit="sample") as bar:
        forbidden = index_evaluation(held_out, lambda count: _advance(bar, count))
    with tqdm(desc="looking at candidates", unit="sample") as bar:
        pool = draw_candidates(scan, samples, seed, forbidden, lambda count: _advance(bar, count))
    request = Request(samples, seed, held_out, forbidden.samples, index, frozenset(measured))
    report = write_calibration_set(scan, pool, request, out)
    for fault in forbidden.unreadable[:5]:
        click.echo(f"evaluation data: {fault}", err=True)
    if as_json:
        click.echo(report.model_dump_json(indent=2))
        return
    print_report(report, Console())
    click.echo(f"{out}: tlive quantize --calibration {out} …")


def _advance(bar: Any, count: int) -> None:
    bar.update(count)
