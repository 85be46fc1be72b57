"""`tlive parity`: how far vLLM is from the transformers reference on the same weights and samples."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from tliveomni_eval.evals.parity_report import ParityReport
    from tliveomni_eval.model_adapters.parity.comparison import ComparisonRequest

OUTPUT_WIDTH = 110
"""Columns where the output is no terminal."""
EXIT_STATUS = {"WITHIN": 0, "BEYOND": 1, "NOTHING COMPARABLE": 3}


@click.command(name="parity")
@click.option("--tasks", default="live", show_default=True, help="Tasks and groups, comma-separated.")
@click.option("--limit", type=click.IntRange(min=1), default=32, show_default=True,
              help="First samples of each task.")  # fmt: skip
@click.option("--variant", default="", help="Variant of the embedded TLiveOmni-nano. Default: bf16.")
@click.option("--model", default="", help="Checkpoint folder or hub name. Default: the embedded one.")
@click.option("--reference", default="", metavar="FOLDER|VARIANT",
              help="What transformers loads. Default: the same; for an embedded quantized variant, bf16.")  # fmt: skip
@click.option("--random-checkpoint", type=click.Choice(["tiny", "8b"]), default=None,
              help="A TLiveOmni checkpoint with random weights instead.")  # fmt: skip
@click.option("--dtype", type=click.Choice(["float32", "bfloat16", "float16"]), default=None,
              help="Type that both sides compute in. Default: float32 without a GPU, else bfloat16.")  # fmt: skip
@click.option("--parity", default="", metavar="SWITCHES", help="Alignments of TLiveOmni to turn off, joined by +.")
@click.option("--ablate", is_flag=True, help="Also compare with each alignment of TLiveOmni off.")
@click.option("--layers", is_flag=True, help="Also find the first module of each component that differs.")
@click.option("--layer-tolerance", type=click.FloatRange(min=0, min_open=True), default=None, metavar="X",
              help="Relative difference taken as rounding. Default: 0.0001 in float32, 0.05 in bfloat16.")  # fmt: skip
@click.option("--max-mean-delta", type=click.FloatRange(min=0), default=None, metavar="X",
              help="Tolerance of the mean |Δ log-probability|. Default: 0.001 in float32, 0.05 in bf16")  # fmt: skip
@click.option("--max-tokens", type=click.IntRange(min=1), default=64, show_default=True,
              help="Most tokens of an answer, where the task allows more.")  # fmt: skip
@click.option("--top-k", type=click.IntRange(1, 20), default=20, show_default=True,
              help="Tokens of the distributions that are compared.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of both sides.")
@click.option("--model-args", default="", help="Further arguments of both backends, as for lmms-eval --model_args.")
@click.option("--output", type=click.Path(path_type=Path), default=None, metavar="FILE.json|FOLDER",
              help="Where the report goes.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(
    tasks: str,
    limit: int,
    variant: str,
    model: str,
    reference: str,
    random_checkpoint: str | None,
    dtype: str | None,
    parity: str,
    ablate: bool,
    layers: bool,
    layer_tolerance: float | None,
    max_mean_delta: float | None,
    max_tokens: int,
    top_k: int,
    seed: int,
    model_args: str,
    output: Path | None,
    as_json: bool,
) -> None:
    """Compare vLLM with transformers on the same samples, token by token, under teacher forcing.

    Ends with 0 where the mean |Δ log-probability| is within tolerance, 1 where it is beyond or a side failed, 3 where
    nothing can be compared, 64 for a usage error.
    """
    from rich.console import Console
    from tliveomni_eval.model_adapters.parity.comparison import ComparisonRequest
    from tliveomni_eval.model_adapters.parity.parity_tables import print_report

    if random_checkpoint and (model or variant or reference):
        raise click.UsageError("--random-checkpoint is a checkpoint of its own: leave --model, --variant, --reference")
    task_names, only_ours = _tasks(tasks)
    switches = _switches(parity)
    shared = _model_args(model_args, dtype, seed)
    console = Console(width=None if sys.stdout.isatty() else OUTPUT_WIDTH)
    with tempfile.TemporaryDirectory(prefix="tlive-parity-") as scratch:
        work = Path(scratch)
        if random_checkpoint:
            model = str(_random_checkpoint(work, random_checkpoint, seed, dtype))
        asked = {"model": model, "variant": variant}
        _check_alignments(asked, switches, ablate)
        request = ComparisonRequest(
            work=work,
            name=f"random-{random_checkpoint}" if random_checkpoint else model or "tliveomni-nano",
            variant=variant or ("" if model else "bf16"),
            reference_args=shared | _reference(asked, reference),
            candidate_args=shared | asked,
            parity=switches,
            tasks=task_names,
            only_our_tasks=only_ours,
            limit=limit,
            max_new_tokens=max_tokens,
            top_k=top_k,
            seed=seed,
            max_mean_delta=max_mean_delta,
            command=("tlive", *sys.argv[1:]),
        )
        report = _compare(request, ablate, layers, layer_tolerance, Console(stderr=True, soft_wrap=True))
    if output is not None:
        _write(report, output)
    if as_json:
        click.echo(report.model_dump_json(indent=2))
    else:
        print_report(console, report)
    sys.exit(EXIT_STATUS[report.outcome])


def _compare(
    request: ComparisonRequest, ablate: bool, layers: bool, layer_tolerance: float | None, console: Console
) -> ParityReport:
    from contextlib import ExitStack

    from tliveomni_eval.model_adapters.parity.comparison import Comparison
    from tliveomni_eval.model_adapters.run.run_display import RunDisplay

    # A job scheduler that ends this process means its sides too, and the scratch folder.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as shown:

        def progress(name: str, _: Any) -> Callable[[Any], None]:
            shown.pop_all().close()
            display = shown.enter_context(RunDisplay(console, [name]))
            return lambda event: display.show(name, event)

        comparison = Comparison(request, progress)
        ablation = comparison.ablate() if ablate else {}
        found = comparison.layers(layer_tolerance) if layers else ()
    return comparison.report(ablation, found)


def _tasks(text: str) -> tuple[list[str], bool]:
    from tliveomni_eval.evals.errors import unknown_name_message
    from tliveomni_eval.tasks.task_index import read_task_index

    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise click.UsageError("--tasks names nothing")
    index = read_task_index()
    ours = [name in index for name in names]
    for name in names:
        if name not in index and name.startswith("live"):
            raise click.UsageError("--tasks: " + unknown_name_message("task", name, list(index)))
    return names, all(ours)


def _switches(text: str) -> tuple[str, ...]:
    from tliveomni_eval.evals.errors import UserError
    from tliveomni_eval.model_adapters.tliveomni_vllm.parity_switches import parse_parity

    try:
        return parse_parity(text).switches
    except UserError as error:
        raise click.UsageError(f"--parity: {error}") from None


def _model_args(text: str, dtype: str | None, seed: int) -> dict[str, Any]:
    from tliveomni_eval.model_adapters.vllm_backend.installed_engine import installed_device
    from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments, split_model_args

    given = split_model_args(text)
    for key in ("model", "variant", "dtype", "seed", "parity"):
        if key in given:
            raise click.UsageError(f"--model-args: {key} has an option of its own, --{key}")
    ModelArguments.from_mapping(given)
    # In float32 rounding is small enough to hide nothing; on a GPU a large model is compared as it is served.
    return given | {"dtype": dtype or ("float32" if installed_device() == "cpu" else "bfloat16"), "seed": seed}


def _random_checkpoint(work: Path, size: str, seed: int, dtype: str | None) -> Path:
    from tliveomni_eval.model_adapters.tliveomni.random_checkpoint import write_random_checkpoint

    return write_random_checkpoint(work / "checkpoint", "8b" if size == "8b" else "tiny", seed, dtype)


def _check_alignments(asked: dict[str, str], switches: tuple[str, ...], ablate: bool) -> None:
    from tliveomni_eval.model_adapters.checkpoint import locate_checkpoint

    architecture = locate_checkpoint(asked["model"], asked["variant"]).architecture
    if (switches or ablate) and not architecture.startswith("TLiveOmni"):
        raise click.UsageError(
            f"{'--ablate' if ablate else '--parity'}: {architecture} has no alignments; only TLiveOmni has; "
            "try --random-checkpoint tiny"
        )


def _reference(asked: dict[str, str], reference: str) -> dict[str, str]:
    from tliveomni_eval.model_adapters.nano.embedded_checkpoints import VARIANTS

    if reference in VARIANTS:
        return {"model": "", "variant": reference}
    if reference:
        return {"model": reference, "variant": ""}
    return asked if asked["model"] else {"model": "", "variant": "bf16"}


def _write(report: ParityReport, output: Path) -> None:
    from tliveomni_eval.evals.errors import UserError
    from tliveomni_eval.evals.parity_report import REPORT_NAME

    path = output if output.suffix == ".json" and not output.is_dir() else output / REPORT_NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"--output {output}: {error.strerror}") from None
    click.echo(f"report: {path}", err=True)
