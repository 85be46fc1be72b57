"""`tlive bench`: what a backend costs to serve."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
from tliveomni_eval.evals.errors import UserError, unknown_name_message

if TYPE_CHECKING:
    from tliveomni_eval.model_adapters.serving.bench_backend import BenchBackend

_MODEL_ARGS = click.option("--model-args", default="", help="As for lmms-eval --model_args of the backend.")


@click.group(name="bench", invoke_without_command=True)
@click.option("--backend", type=click.Choice(["vllm", "server", "transformers"]), default="vllm", show_default=True)
@_MODEL_ARGS
@click.option(
    "--workloads", default="text,image,video,audio", show_default=True, help="Comma-separated; also video_long."
)
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="DIR", help="Requests of a data folder, not generated."
)
@click.option("--requests", type=click.IntRange(min=1), default=8, show_default=True, help="Of a workload.")
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="Of all, at batch 1.")
@click.option("--prompt-tokens", type=click.IntRange(min=16), help="Instead of the workload's.")
@click.option("--output-tokens", type=click.IntRange(min=1), help="Instead of the workload's.")
@click.option("--concurrency", default="1,4,16", show_default=True, help="Closed-loop steps; empty for none.")
@click.option("--rates", default="", help="Open-loop steps in requests a second (Poisson), comma-separated.")
@click.option("--slo-ttft", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Limit for goodput.")
@click.option("--slo-tpot", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Limit for goodput.")
@click.option("--slo-latency", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Limit for goodput.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=300.0, show_default=True, metavar="S")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--name", default="", help="In the report; the variant or the backend by default.")
@click.option("--media-kinds", default="image,video", show_default=True, help="What a server's model takes.")
@click.option("--run", "run_folder", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="RUN",
              help="Write bench.json into this run folder, for the page.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the figures there.")
@click.option("--json", "as_json", is_flag=True, help="Print bench.json instead of tables.")
@click.pass_context
def command(
    context: click.Context,
    backend: str,
    model_args: str,
    workloads: str,
    data: Path | None,
    requests: int,
    repeats: int,
    prompt_tokens: int | None,
    output_tokens: int | None,
    concurrency: str,
    rates: str,
    slo_ttft: float | None,
    slo_tpot: float | None,
    slo_latency: float | None,
    timeout: float,
    seed: int,
    name: str,
    media_kinds: str,
    run_folder: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure seconds a sample, TTFT in parts, TPOT, throughput, goodput, caches and memory, by modality.

    Requests are generated to the token, or taken from a data folder; every length is decoded in full.
    """
    if context.invoked_subcommand is not None:
        return
    from rich.console import Console
    from tliveomni_eval.evals.serving_figures import SERVING_FIGURES_NAME, Slo
    from tliveomni_eval.model_adapters.serving.bench_run import BenchSettings, run_bench
    from tliveomni_eval.model_adapters.serving.bench_table import print_bench
    from tliveomni_eval.model_adapters.serving.workloads import WORKLOADS, scaled

    names = [item.strip() for item in workloads.split(",") if item.strip()]
    for item in names:
        if item not in WORKLOADS:
            raise click.UsageError(unknown_name_message("workload", item, list(WORKLOADS)))
    steps = tuple(int(step) for step in _numbers("--concurrency", concurrency, whole=True))
    arrivals = _numbers("--rates", rates)
    measured = _open_backend(backend, model_args, media_kinds)
    try:
        facts = measured.facts()
        settings = BenchSettings(
            name=name or facts.variant or facts.backend,
            specs=tuple(scaled(WORKLOADS[item], prompt_tokens, output_tokens) for item in names),
            data=data,
            requests=requests,
            repeats=repeats,
            concurrency=steps,
            rates=arrivals,
            slo=Slo(ttft_s=slo_ttft, tpot_s=slo_tpot, latency_s=slo_latency),
            timeout_s=timeout,
            seed=seed,
        )
        with tempfile.TemporaryDirectory(prefix="tlive-bench-") as scratch:
            report = run_bench(measured, settings, Path(scratch), lambda step: click.echo(step, err=True))
    finally:
        measured.close()
    if not report.workloads:
        raise UserError("no workload fits the backend; nothing was measured")
    for target in ([run_folder / SERVING_FIGURES_NAME] if run_folder else []) + ([out] if out else []):
        report.write(target)
    if as_json:
        click.echo(report.model_dump_json(indent=2))
    else:
        print_bench(report, Console())


@command.command(name="cache")
@click.option(
    "--server", "servers", multiple=True, required=True, metavar="URL", help="A server; a second is a replica."
)
@click.option("--model", default="", help="Name the servers serve it under; empty for the only one.")
@click.option("--fill", type=click.IntRange(min=1), default=64, show_default=True, help="Images that drive one out.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def cache(servers: tuple[str, ...], model: str, fill: int, as_json: bool) -> int:
    """Check that a server's media cache never answers with stale media.

    Sends images under a UUID, then the UUID alone, with changed content, after eviction and to a replica. Ends with 1
    where an answer was given from media that were not asked about.
    """
    from rich.console import Console
    from tliveomni_eval.model_adapters.server_backend.event_loop import run_to_end
    from tliveomni_eval.model_adapters.serving.cache_check import check_media_cache, print_cache_report

    report = run_to_end(check_media_cache(servers, model, fill))
    if as_json:
        click.echo(report.model_dump_json(indent=2))
    else:
        print_cache_report(report, Console())
    return 0 if report.safe else 1


def _open_backend(backend: str, model_args: str, media_kinds: str) -> BenchBackend:
    from tliveomni_eval.model_adapters.vllm_backend.model_arguments import split_model_args

    given = split_model_args(model_args)
    if backend == "server":
        from tliveomni_eval.model_adapters.server_backend.server_arguments import ServerArguments
        from tliveomni_eval.model_adapters.serving.server_bench import ServerBench

        kinds = frozenset(kind.strip() for kind in media_kinds.split(",") if kind.strip())
        return ServerBench(ServerArguments.from_mapping(given), kinds)
    if backend == "transformers":
        from tliveomni_eval.model_adapters.serving.transformers_bench import TransformersBench

        return TransformersBench(dict(given))
    from tliveomni_eval.model_adapters.serving.engine_bench import EngineBench

    # Standard output is for the figures, which a machine may read.
    os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")
    return EngineBench(dict(given))


def _numbers(option: str, text: str, whole: bool = False) -> tuple[float, ...]:
    found = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        try:
            value = float(item)
        except ValueError:
            value = 0.0
        if not 0 < value < float("inf") or (whole and value != int(value)):
            raise click.UsageError(f"{option} {item!r}: must be a {'whole ' if whole else ''}number above 0")
        found.append(value)
    return tuple(found)
