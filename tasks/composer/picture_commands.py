"""`tlive compose TASK` for the tasks of `picture_composers`: one command each, with the embedded set as its default."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

import click

EMBEDDED_SEED: Final = 30
EMBEDDED_PICTURES: Final = {
    "live_chart": (240, "Write charts with a question about one of their values."),
    "live_counting": (240, "Write shelves of products with a counting question."),
    "live_spatial": (240, "Write shelves with a question about where products stand to each other."),
    "live_table": (216, "Write tables of variants with their Markdown."),
    "live_unanswerable": (204, "Write shelves with a question that the picture answers and a twin that it does not."),
    "mmbench_circular_mini": (216, "Write pictures with multiple-choice questions under all rotations."),
}
"""Task: the number of pictures of its embedded set, and what the command's help says."""

Progress = Callable[[Iterable[Any], int], Iterator[Any]]


def add_picture_commands(group: click.Group, with_progress: Progress) -> None:
    """Add a command for each task to `tlive compose`.

    Args:
        group: The command `tlive compose`.
        with_progress: Passes items on while it shows how many of a total have passed.
    """
    for task, (pictures, summary) in EMBEDDED_PICTURES.items():
        group.add_command(_command(task, pictures, summary, with_progress))


def _command(task: str, default_pictures: int, summary: str, with_progress: Progress) -> click.Command:
    @click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write.")
    @click.option("--pictures", default=default_pictures, show_default=True, type=click.IntRange(1, 100_000))
    @click.option("--seed", default=EMBEDDED_SEED, show_default=True, type=click.IntRange(0), help="Of the whole set.")
    @click.option("--workers", default=None, type=click.IntRange(1), help="Processes; one for each core by default.")
    def write(out: Path, pictures: int, seed: int, workers: int | None) -> None:
        from tliveomni_eval.evals.errors import UserError
        from tliveomni_eval.tasks.composer.live_ocr_set import MEDIA_FOLDER
        from tliveomni_eval.tasks.composer.picture_composers import COMPOSERS
        from tliveomni_eval.tasks.composer.picture_set import finish_set, write_picture

        if out.exists() and any(out.iterdir()):
            raise UserError(f"{out} is not empty; name a new folder, or delete this one first")
        (out / MEDIA_FOLDER).mkdir(parents=True, exist_ok=True)
        make = partial(write_picture, out, COMPOSERS[task], task, seed)
        with ProcessPoolExecutor(workers or os.cpu_count()) as pool:
            lines = list(chain.from_iterable(with_progress(pool.map(make, range(pictures), chunksize=8), pictures)))
        click.echo(f"{finish_set(out, task, lines, pictures, seed)} samples in {out}")

    return click.command(name=task, help=f"{summary}\n\nThe embedded set is what the defaults write. OUT must be new.")(
        write
    )
