"""`tlive compose live_asr` and `live_diarization`: recordings mixed from a bank of utterances."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

EMBEDDED: Final = {
    "live_asr": (840, 40, "Write utterances with hotword lists and noise."),
    "live_diarization": (624, 41, "Write dialogues of one to four speakers."),
}
"""Task: samples and seed of its embedded set, and what the command's help says."""

Progress = Callable[[Iterable[Any], int], Iterator[Any]]


def add_speech_commands(group: click.Group, with_progress: Progress) -> None:
    """Add the commands of the two speech tasks to `tlive compose`.

    Args:
        group: The command `tlive compose`.
        with_progress: Passes items on while it shows how many of a total have passed.
    """
    for task, (samples, seed, summary) in EMBEDDED.items():
        group.add_command(_command(task, samples, seed, summary, with_progress))


def _command(task: str, samples: int, seed: int, summary: str, with_progress: Progress) -> click.Command:
    @click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write.")
    @click.option("--samples", default=samples, show_default=True, type=click.IntRange(1, 1_000_000), help="How many.")
    @click.option("--seed", default=seed, show_default=True, type=click.IntRange(0), help="Of the whole set.")
    @click.option(
        "--bank",
        default=None,
        type=click.Path(path_type=Path, file_okay=False, exists=True),
        help="Bank of utterances (make compose-speech); the embedded one of the evaluation side by default.",
    )
    @click.option(
        "--real",
        default=None,
        type=click.Path(path_type=Path, file_okay=False, exists=True),
        help="live_asr: folder `librivox` of Debian's pocketsphinx-testdata, for the slice source=real.",
    )
    @click.option("--workers", default=None, type=click.IntRange(1), help="Processes; one for each core by default.")
    def write(out: Path, samples: int, seed: int, bank: Path | None, real: Path | None, workers: int | None) -> None:
        from tliveomni_eval.evals.errors import UserError
        from tliveomni_eval.tasks.composer.live_asr_set import MEDIA_FOLDER, open_bank, plan_speech, write_speech
        from tliveomni_eval.tasks.composer.live_diarization_set import plan_dialogues, write_dialogue
        from tliveomni_eval.tasks.composer.live_ocr_set import write_manifest
        from tliveomni_eval.tasks.composer.real_speech import write_real_speech
        from tliveomni_eval.tasks.composer.set_record import files_sha256, write_set_record
        from tliveomni_eval.tasks.composer.speech_bank import BANK_FOLDER, INDEX_NAME

        if real is not None and task != "live_asr":
            raise UserError("--real is for live_asr: its recordings have one speaker and no times")
        if out.exists() and any(out.iterdir()):
            raise UserError(f"{out} is not empty; name a new folder, or delete this one first")
        (out / MEDIA_FOLDER).mkdir(parents=True, exist_ok=True)
        folder = bank or BANK_FOLDER
        plan: Callable[..., Iterable[Any]] = plan_speech if task == "live_asr" else plan_dialogues
        compose: Callable[..., dict[str, Any]] = write_speech if task == "live_asr" else write_dialogue
        with ProcessPoolExecutor(workers or os.cpu_count()) as pool:
            written = pool.map(partial(compose, out, folder), plan(open_bank(folder), samples, seed), chunksize=16)
            lines = list(with_progress(written, samples))
        if real is not None:
            lines += write_real_speech(out, real)
        write_manifest(out, lines)
        if bank is not None:
            # A bank of its own need not lie beside the set: what was said, by whom and how long stays with it.
            shutil.copyfile(bank / INDEX_NAME, out / INDEX_NAME)
        options = (" --bank BANK" if bank else "") + (" --real LIBRIVOX" if real else "")
        write_set_record(
            out,
            f"tlive compose {task} --out DIR --samples {samples} --seed {seed}{options}",
            files_sha256((f"{task}_set.py", "live_asr_set.py", "speech_mix.py", "opus_file.py", "speech/*")),
            samples=samples,
            seed=seed,
        )
        click.echo(f"{len(lines)} samples in {out}")

    return click.command(name=task, help=f"{summary}\n\nThe embedded set is what the defaults write. OUT must be new.")(
        write
    )
