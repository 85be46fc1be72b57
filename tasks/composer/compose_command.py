"""`tlive compose`: write a folder of generated samples (images and their manifest)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import click
from tliveomni_eval.tasks.composer.picture_commands import add_picture_commands
from tliveomni_eval.tasks.composer.speech_commands import add_speech_commands

Item = TypeVar("Item")


@click.group(name="compose")
def command() -> None:
    """Generate live-stream samples with exact references, for evaluation or training."""


@command.command(name="live_ocr")
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write.")
@click.option("--samples", default=1500, show_default=True, type=click.IntRange(1, 1_000_000), help="How many.")
@click.option("--side", default="eval", show_default=True, type=click.Choice(["eval", "train"]), help="Product names.")
@click.option("--seed", default=20, show_default=True, type=click.IntRange(0), help="Of the whole set.")
@click.option("--workers", default=None, type=click.IntRange(1), help="Processes; one for each core by default.")
def live_ocr(out: Path, samples: int, side: str, seed: int, workers: int | None) -> None:
    """Write frames of shopping live streams with questions about price, SKU, name, promotion and table.

    The embedded set is what the defaults write. OUT must be new or empty.
    """
    from tliveomni_eval.evals.errors import UserError
    from tliveomni_eval.tasks.composer.catalogue import Side
    from tliveomni_eval.tasks.composer.live_ocr_set import (
        MEDIA_FOLDER,
        manifest_order,
        plan_samples,
        write_fingerprint,
        write_manifest,
        write_sample,
    )

    if out.exists() and any(out.iterdir()):
        raise UserError(f"{out} is not empty; name a new folder, or delete this one first")
    (out / MEDIA_FOLDER).mkdir(parents=True, exist_ok=True)
    planned = sorted(plan_samples(samples, seed), key=manifest_order)
    with ProcessPoolExecutor(workers or os.cpu_count()) as pool:
        written = pool.map(partial(write_sample, out, side=cast(Side, side)), planned, chunksize=16)
        lines = list(_with_progress(written, samples))
    write_manifest(out, lines)
    write_fingerprint(out, samples, cast(Side, side), seed)
    click.echo(f"{len(lines)} samples in {out}")


@command.command(name="live_localization")
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write.")
@click.option("--samples", default=1230, show_default=True, type=click.IntRange(1, 1_000_000), help="How many.")
@click.option("--side", default="eval", show_default=True, type=click.Choice(["eval", "train"]), help="Products.")
@click.option("--seed", default=30, show_default=True, type=click.IntRange(0), help="Of the whole set.")
@click.option("--workers", default=None, type=click.IntRange(1), help="Processes; one for each core by default.")
def live_localization(out: Path, samples: int, side: str, seed: int, workers: int | None) -> None:
    """Write product scenes with questions about where something is.

    The embedded set is what the defaults write. OUT must be new or empty.
    """
    from tliveomni_eval.tasks.composer.catalogue import Side
    from tliveomni_eval.tasks.composer.live_ocr_set import write_manifest
    from tliveomni_eval.tasks.composer.localization.localization_set import (
        plan_scenes,
        write_localization_record,
        write_scene,
    )

    _make_set_folder(out)
    planned = list(plan_scenes(samples, seed))
    with ProcessPoolExecutor(workers or os.cpu_count()) as pool:
        written = pool.map(partial(write_scene, out, side=cast(Side, side)), planned, chunksize=8)
        lines = list(_with_progress(written, samples))
    write_manifest(out, lines)
    write_localization_record(out, samples, cast(Side, side), seed)
    click.echo(f"{len(lines)} samples in {out}")


@command.command(name="live_temporal_grounding")
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write.")
@click.option("--streams", default=120, show_default=True, type=click.IntRange(1, 100_000), help="3 questions each.")
@click.option("--side", default="eval", show_default=True, type=click.Choice(["eval", "train"]), help="Products.")
@click.option("--seed", default=40, show_default=True, type=click.IntRange(0), help="Of the whole set.")
@click.option(
    "--duration",
    "durations",
    multiple=True,
    type=click.Choice(["0-30", "30-60", "60-120", "120-300", "300-720"]),
    help="Length in seconds; several are gone through in turn. By default the mixture of the embedded set.",
)
@click.option("--speech/--no-speech", default=True, show_default=True, help="Let every other stream speak.")
@click.option("--bank", default=None, type=click.Path(path_type=Path), help="Another bank of speech.")
@click.option("--workers", default=None, type=click.IntRange(1), help="Processes; one for each core by default.")
def live_temporal_grounding(
    out: Path,
    streams: int,
    side: str,
    seed: int,
    durations: tuple[str, ...],
    speech: bool,
    bank: Path | None,
    workers: int | None,
) -> None:
    """Write live streams with questions about when something is shown or said, their selling points and captions.

    The embedded set is what the defaults write. OUT must be new or empty.
    """
    from tliveomni_eval.evals.errors import UserError
    from tliveomni_eval.tasks.composer.catalogue import Side
    from tliveomni_eval.tasks.composer.live_ocr_set import write_manifest
    from tliveomni_eval.tasks.composer.speech_bank import BANK_FOLDER
    from tliveomni_eval.tasks.composer.stream.stream_set import plan_streams, write_planned_stream, write_stream_record

    if speech and side == "train" and bank is None:
        raise UserError(
            "the embedded bank of speech is of side eval; name one of side train with --bank, or add --no-speech"
        )
    _make_set_folder(out)
    planned = list(plan_streams(streams, seed, durations, speech))
    write = partial(
        write_planned_stream, out, side=cast(Side, side), bank_folder=(bank or BANK_FOLDER) if speech else None
    )
    with ProcessPoolExecutor(workers or os.cpu_count()) as pool:
        lines = [line for of_stream in _with_progress(pool.map(write, planned), streams) for line in of_stream]
    write_manifest(out, lines)
    write_stream_record(out, streams, cast(Side, side), seed, durations, speech)
    click.echo(f"{len(lines)} samples in {out}")


def _make_set_folder(out: Path) -> None:
    """Make a new or empty folder ready to be written.

    Raises:
        UserError: It holds something.
    """
    from tliveomni_eval.evals.errors import UserError
    from tliveomni_eval.tasks.composer.live_ocr_set import MEDIA_FOLDER

    if out.exists() and any(out.iterdir()):
        raise UserError(f"{out} is not empty; name a new folder, or delete this one first")
    (out / MEDIA_FOLDER).mkdir(parents=True, exist_ok=True)


def _with_progress(items: Iterable[Item], total: int) -> Iterator[Item]:
    """Pass the items on while a bar on stderr shows their number, rate and remaining time."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("composing"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("composing", total=total, rate="")
        for item in items:
            speed = progress.tasks[0].speed
            progress.update(task, advance=1, rate=f"{speed:.0f}/s" if speed else "")
            yield item


add_picture_commands(command, _with_progress)
add_speech_commands(command, _with_progress)
