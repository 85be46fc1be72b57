"""`tlive run`: one or more backends over some tasks, one fresh process each."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from tliveomni_eval.model_adapters.run.child_process import RunOutcome
    from tliveomni_eval.model_adapters.run.run_specification import RunSpecification


@click.command(name="run")
@click.option("--tasks", default="live_ocr", show_default=True, help="Tasks and groups, comma-separated.")
@click.option("--variants", default="bf16", show_default=True, help="Variants to run, comma-separated.")
@click.option("--checkpoint", "checkpoints", multiple=True, metavar="VARIANT=FOLDER",
              help="Where a variant's checkpoint is; without it, the embedded TLiveOmni-nano.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
              help="Folder that gets one run folder a variant.")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1), default=None, help="First samples of each task only.")
@click.option("--backend", type=click.Choice(["tliveomni_vllm", "tliveomni_hf"]), default="tliveomni_vllm",
              show_default=True, help="What answers: vLLM, or the transformers reference.")  # fmt: skip
@click.option("--model-args", default="", help="Further arguments of the backend, as for lmms-eval --model_args.")
@click.option("--fresh", is_flag=True, help="Forget earlier responses of these runs.")
@click.option("--jobs", type=click.IntRange(min=1), default=None, metavar="N",
              help="Runs at a time. Default: 1 on a GPU; without one, one a core as far as memory goes.")  # fmt: skip
@click.option("--no-canaries", is_flag=True,
              help="Leave out the requests that show whether a run measures what it claims; noted.")  # fmt: skip
@click.option("--hang-timeout", type=click.FloatRange(min=1), default=600.0, show_default=True, metavar="SECONDS",
              help="Without a token for so long, the engine is ended and started anew.")  # fmt: skip
@click.option("--store", type=click.Path(path_type=Path), envvar="TLIVE_STORE", show_envvar=True, default=None,
              help="Store that gets the finished runs. Default: ./tlive-store where there is one.")  # fmt: skip
@click.option("--no-store", is_flag=True, help="Add the runs to no store.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(
    tasks: str,
    variants: str,
    checkpoints: tuple[str, ...],
    out: Path,
    limit: int | None,
    backend: str,
    model_args: str,
    fresh: bool,
    jobs: int | None,
    no_canaries: bool,
    hang_timeout: float,
    store: Path | None,
    no_store: bool,
    as_json: bool,
) -> None:
    """Evaluate variants, each in a process of its own; what an earlier, interrupted run completed is not repeated.

    Each variant gets a run folder OUT/VARIANT with lmms-eval's logs, run.json, run.log and journal.sqlite.
    Ends with 1 where a run failed.
    """
    from rich.console import Console
    from tliveomni_eval.model_adapters.run.run_display import outcome_table
    from tliveomni_eval.tasks.task_index import leaf_tasks, read_task_index

    specifications = [
        specification.model_copy(
            update={"backend": backend, "canaries": not no_canaries, "hang_timeout_s": hang_timeout}
        )
        for specification in _specifications(tasks, variants, checkpoints, out, limit, model_args)
    ]
    for specification in specifications:
        _prepare_folder(specification.run_folder, fresh)
    console = Console(stderr=as_json, soft_wrap=True)
    with _interrupted_by_sigterm():
        outcomes = _run_all(specifications, jobs or _default_jobs(specifications), console)
    if as_json:
        click.echo(json.dumps(_outcomes_as_json(specifications, outcomes), indent=2, ensure_ascii=False))
    else:
        index = read_task_index()
        names = leaf_tasks(specifications[0].tasks, index)
        headlines = {name: str(index[name].metadata.get("headline")) for name in names if name in index}
        console.print(outcome_table(outcomes, headlines))
    finished = [one.run_folder for one in specifications if outcomes[one.name].exit_status == 0]
    if not no_store:
        _add_to_store(store or _store_here(), finished)
    sys.exit(0 if all(outcome.exit_status == 0 for outcome in outcomes.values()) else 1)


def _store_here() -> Path | None:
    return folder if (folder := Path("tlive-store")).is_dir() else None


def _add_to_store(store: Path | None, runs: list[Path]) -> None:
    """A store that cannot take a run says so and no more: the run itself is complete in its folder."""
    if store is None or not runs:
        return
    from tliveomni_eval.evals.errors import UserError
    from tliveomni_eval.leaderboard.store.run_store import RunStore

    for run in runs:
        try:
            run_id, is_new = RunStore(store).add(run)
            click.echo(f"{run.name} {'added to' if is_new else 'is already in'} the store {store}: {run_id}", err=True)
        except UserError as error:
            click.echo(f"warning: {run.name} was not added to the store {store}: {error}", err=True)


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """A job scheduler that ends this process, or a terminal that closes, means the runs too; they keep what they have.

    The runs lead process groups of their own, which a terminal tells nothing; under `nohup` they go on.
    """
    meant = [signal.SIGTERM, *([signal.SIGHUP] if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN else [])]
    earlier = {number: signal.signal(number, signal.default_int_handler) for number in meant}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _run_all(specifications: list[RunSpecification], jobs: int, console: Console) -> dict[str, RunOutcome]:
    from tliveomni_eval.model_adapters.run.child_process import INTERRUPTED_STATUS
    from tliveomni_eval.model_adapters.run.parallel_runs import run_in_fresh_processes
    from tliveomni_eval.model_adapters.run.run_display import RunDisplay
    from tliveomni_eval.model_adapters.run.side_by_side import has_cpu_build_of_vllm, plan_waves, usable_cores
    from tliveomni_eval.model_adapters.run.warm_start import WarmServer

    on_vllm = all(specification.backend == "tliveomni_vllm" for specification in specifications)
    warm_server = WarmServer() if len(specifications) > 1 and on_vllm and has_cpu_build_of_vllm() else None
    outcomes: dict[str, RunOutcome] = {}
    for wave in plan_waves(len(specifications), jobs, usable_cores()):
        running = [
            specification.model_copy(update={"cores": cores})
            for specification, cores in zip(specifications[wave.first :], wave.cores, strict=False)
        ]
        with RunDisplay(console, [specification.name for specification in running]) as display:
            ended = run_in_fresh_processes(
                running, lambda specification, event: display.show(specification.name, event), warm_server
            )
        for specification, outcome in zip(running, ended, strict=True):
            outcomes[specification.name] = outcome
            if outcome.exit_status != 0:
                click.echo(f"error: {specification.name}: {outcome.message}", err=True)
            elif outcome.scored is not None:
                for sample in outcome.scored.quarantined:
                    click.echo(f"warning: {specification.name}: given up and counted as error: {sample}", err=True)
                for canary in outcome.scored.failed_canaries:
                    click.echo(f"warning: {specification.name}: canary failed, the gate refuses it: {canary}", err=True)
        if any(outcome.exit_status == INTERRUPTED_STATUS for outcome in ended):
            raise KeyboardInterrupt
    return outcomes


def _default_jobs(specifications: list[RunSpecification]) -> int:
    from tliveomni_eval.model_adapters.run.side_by_side import (
        free_memory_gib,
        has_cpu_build_of_vllm,
        runs_at_a_time,
        usable_cores,
    )

    if not has_cpu_build_of_vllm():
        return 1
    sizes = [
        sum(path.stat().st_size for path in Path(specification.model).rglob("*.safetensors"))
        for specification in specifications
        if specification.model
    ]
    largest = max(sizes, default=0) / 2**30
    return runs_at_a_time(len(specifications), len(usable_cores()), free_memory_gib(), largest)


def _specifications(
    tasks: str, variants: str, checkpoints: tuple[str, ...], out: Path, limit: int | None, model_args: str
) -> list[RunSpecification]:
    from tliveomni_eval.evals.errors import UserError, unknown_name_message
    from tliveomni_eval.model_adapters.nano.embedded_checkpoints import VARIANTS
    from tliveomni_eval.model_adapters.run.run_specification import RunSpecification
    from tliveomni_eval.tasks.data_location import data_folder
    from tliveomni_eval.tasks.manifest import load_samples
    from tliveomni_eval.tasks.task_index import leaf_tasks, read_task_index

    extra = _parsed_model_args(model_args)
    index = read_task_index()
    task_names, variant_names = _names(tasks, "--tasks"), _names(variants, "--variants")
    folders = dict(_checkpoint_option(option) for option in checkpoints)
    for variant in [name for name in folders if name not in variant_names]:
        raise UserError(f"--checkpoint {variant}=…: {variant!r} is not among --variants {variants}")
    for variant in [name for name in variant_names if name not in folders and name not in VARIANTS]:
        raise UserError("--variants: " + unknown_name_message("variant", variant, VARIANTS)
                        + " For a checkpoint of your own, add --checkpoint VARIANT=FOLDER.")  # fmt: skip
    for task in leaf_tasks(task_names, index):
        if task in index:
            load_samples(data_folder(task), task)
    return [
        RunSpecification(
            run_folder=out.absolute() / variant,
            name=variant,
            variant=variant,
            model=folders.get(variant, ""),
            model_args=extra,
            tasks=task_names,
            only_our_tasks=all(name in index for name in task_names),
            limit=limit,
            command=["tlive", *sys.argv[1:]],
        )
        for variant in variant_names
    ]


def _names(text: str, option: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise click.UsageError(f"{option} names nothing")
    for name in names:
        if "/" in name or name.startswith("."):
            raise click.UsageError(f"{option}: {name!r} is not a name")
    return names


def _checkpoint_option(option: str) -> tuple[str, str]:
    variant, equals, folder = option.partition("=")
    if not equals or not variant or not folder:
        raise click.UsageError(f"--checkpoint {option!r}: write VARIANT=FOLDER")
    return variant, folder


def _parsed_model_args(text: str) -> dict[str, Any]:
    """Key to value; checked before any process starts."""
    from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments, split_model_args

    given = split_model_args(text)
    for key in ("model", "variant"):
        if key in given:
            raise click.UsageError(f"--model-args: {key} is set by --variants and --checkpoint")
    ModelArguments.from_mapping(given)
    return given


def _prepare_folder(folder: Path, fresh: bool) -> None:
    from filelock import FileLock, Timeout
    from tliveomni_eval.evals.errors import UserError

    try:
        folder.mkdir(parents=True, exist_ok=True)
        # The evaluation takes the lock itself, for as long as it runs; here a second one ends before it touches a file.
        with FileLock(folder / ".lock", timeout=0):
            if fresh:
                for path in [*folder.glob("journal.sqlite*"), folder / "canaries.json", folder / "engine_deaths.json"]:
                    path.unlink(missing_ok=True)
        (folder / "run.log").touch()
    except Timeout:
        raise UserError(
            f"another process is writing {folder}, and nothing of it is touched; wait for it, or choose another folder "
            "with --out"
        ) from None
    except OSError as error:
        raise UserError(f"run folder {folder}: {error.strerror}; choose another with --out") from None


def _outcomes_as_json(specifications: list[RunSpecification], outcomes: dict[str, RunOutcome]) -> list[dict[str, Any]]:
    return [
        {
            "name": specification.name,
            "run_folder": str(specification.run_folder),
            "exit_status": outcomes[specification.name].exit_status,
            "message": outcomes[specification.name].message,
            "scored": scored.model_dump() if (scored := outcomes[specification.name].scored) else None,
        }
        for specification in specifications
    ]
