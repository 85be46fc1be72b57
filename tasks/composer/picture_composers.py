"""The tasks whose pictures this package composes, with the size and seed of the embedded set."""

from dataclasses import dataclass
from typing import Final

from tliveomni_eval.tasks.composer.chart_picture import compose_chart
from tliveomni_eval.tasks.composer.choice_picture import compose_choice
from tliveomni_eval.tasks.composer.counting_picture import compose_counting
from tliveomni_eval.tasks.composer.picture_set import Composer
from tliveomni_eval.tasks.composer.spatial_picture import compose_spatial
from tliveomni_eval.tasks.composer.table_picture import compose_table
from tliveomni_eval.tasks.composer.unanswerable_picture import compose_unanswerable

SEED: Final = 30


@dataclass(frozen=True)
class PictureTask:
    """What makes a task's pictures, and how many the embedded set has."""

    composer: Composer
    pictures: int


PICTURE_TASKS: Final[dict[str, PictureTask]] = {
    "live_chart": PictureTask(compose_chart, 240),
    "live_counting": PictureTask(compose_counting, 240),
    "live_spatial": PictureTask(compose_spatial, 240),
    "live_table": PictureTask(compose_table, 216),
    "live_unanswerable": PictureTask(compose_unanswerable, 204),
    "mmbench_circular_mini": PictureTask(compose_choice, 216),
}
