"""`tlive recommend`: which variant to ship on which hardware."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from tliveomni_eval.evals.errors import UserError, unknown_name_message

if TYPE_CHECKING:
    from tliveomni_eval.evals.recommend import Architecture, Hardware


@click.command(name="recommend")
@click.option("--hardware", "hardware_name", metavar="NAME",
              help="h200, h100, a100, l40s, rtx4090 or l4; or a name of yours.")  # fmt: skip
@click.option("--architecture", type=click.Choice(["cpu", "ampere", "ada", "hopper", "blackwell"]),
              help="Of other hardware.")  # fmt: skip
@click.option("--memory-gb", type=click.FloatRange(min=0, min_open=True), help="Of one device, 10^9 bytes.")
@click.option("--bandwidth", type=click.FloatRange(min=0, min_open=True), metavar="GB/s", help="Of its memory.")
@click.option("--gate", "gate_files", multiple=True, type=click.Path(path_type=Path), required=True,
              metavar="GATE.json",
              help="What `tlive gate --json` wrote. Repeatable.")  # fmt: skip
@click.option("--bench", "bench_files", multiple=True, type=click.Path(path_type=Path), metavar="BENCH.json",
              help="What `tlive bench --out` wrote on this hardware, one a variant. Repeatable.")  # fmt: skip
@click.option("--parameters", type=click.FloatRange(min=0, min_open=True), default=7.0, show_default=True,
              help="That a recipe quantizes, in 10^9.")  # fmt: skip
@click.option("--sixteen-bit", type=click.FloatRange(min=0), default=1.8, show_default=True,
              help="Parameters that stay at 16 bit (vision, audio, embeddings), in 10^9.")  # fmt: skip
@click.option("--kv-gb", type=click.FloatRange(min=0), default=4.0, show_default=True,
              help="Keys and values that must fit.")  # fmt: skip
@click.option("--max-seconds", type=click.FloatRange(min=0, min_open=True), help="Limit of the mean seconds a sample.")
@click.option("--accept-inconclusive", is_flag=True, help="Let a variant ship that the samples could not decide.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    hardware_name: str | None,
    architecture: Architecture | None,
    memory_gb: float | None,
    bandwidth: float | None,
    gate_files: tuple[Path, ...],
    bench_files: tuple[Path, ...],
    parameters: float,
    sixteen_bit: float,
    kv_gb: float,
    max_seconds: float | None,
    accept_inconclusive: bool,
    as_json: bool,
) -> int:
    """Recommend a variant for hardware and budget, with the reason; a variant that breaches is refused.

    Ends with 1 where none fits.
    """
    from pydantic import ValidationError
    from tliveomni_eval.evals.gate.verdict import SEVERITY, GateReport, Outcome
    from tliveomni_eval.evals.recommend import Need, advise
    from tliveomni_eval.evals.serving_figures import read_bench_report

    hardware = _hardware(hardware_name, architecture, memory_gb, bandwidth)
    verdicts: dict[str, Outcome] = {}
    baselines = set()
    for path in gate_files:
        try:
            report = GateReport.model_validate_json(path.read_bytes())
        except OSError as error:
            raise UserError(f"--gate {path}: cannot be read ({error.strerror})") from None
        except ValidationError as error:
            first = error.errors()[0]["msg"]
            raise UserError(f"--gate {path}: {first}; give what `tlive gate --json FILE` wrote") from None
        for verdict in report.verdicts:
            name = verdict.candidate.variant or verdict.candidate.name
            baselines.add(verdict.baseline.variant or verdict.baseline.name)
            known = verdicts.get(name, verdict.outcome)
            verdicts[name] = max(known, verdict.outcome, key=SEVERITY.__getitem__)
    if len(baselines) != 1:
        raise UserError(f"--gate: the reports must share one baseline, got {', '.join(sorted(baselines)) or 'none'}")
    need = Need(parameters, sixteen_bit, kv_gb, max_seconds, accept_inconclusive)
    advice = advise(hardware, need, verdicts, [read_bench_report(path) for path in bench_files], baselines.pop())
    if as_json:
        click.echo(advice.model_dump_json(indent=2))
    else:
        from rich.console import Console
        from rich.table import Table

        columns = ("variant", "fits", "gate", "weights", "room for KV", "least ms/token", "s/sample")
        table = Table(*columns, title=hardware.name)
        for item in advice.variants:
            measured = "–" if item.seconds_per_sample is None else f"{item.seconds_per_sample:.2f}"
            sizes = (f"{item.weights_gb:.1f} GB", f"{item.kv_gb:.1f} GB", f"{item.decode_floor_ms:.2f}")
            table.add_row(item.variant, item.fit, item.verdict or "–", *sizes, measured)
        console = Console()
        console.print(table)
        console.print(advice.reason, highlight=False, markup=False)
    return 0 if advice.variant else 1


def _hardware(
    name: str | None, architecture: Architecture | None, memory_gb: float | None, bandwidth: float | None
) -> Hardware:
    from tliveomni_eval.evals.recommend import KNOWN_HARDWARE, Hardware

    if architecture is not None and memory_gb is not None and bandwidth is not None:
        return Hardware(name or "hardware", architecture, memory_gb, bandwidth)
    if any(value is not None for value in (architecture, memory_gb, bandwidth)) or name is None:
        raise click.UsageError("give --hardware NAME, or all of --architecture, --memory-gb and --bandwidth")
    if name not in KNOWN_HARDWARE:
        raise click.UsageError(
            unknown_name_message("hardware", name, list(KNOWN_HARDWARE))
            + " Or give --architecture, --memory-gb and --bandwidth."
        )
    return KNOWN_HARDWARE[name]
