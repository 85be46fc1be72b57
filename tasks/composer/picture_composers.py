"""The tasks whose pictures this package composes."""

from typing import Final

from tliveomni_eval.tasks.composer.chart_picture import compose_chart
from tliveomni_eval.tasks.composer.choice_picture import compose_choice
from tliveomni_eval.tasks.composer.counting_picture import compose_counting
from tliveomni_eval.tasks.composer.picture_set import Composer
from tliveomni_eval.tasks.composer.spatial_picture import compose_spatial
from tliveomni_eval.tasks.composer.table_picture import compose_table
from tliveomni_eval.tasks.composer.unanswerable_picture import compose_unanswerable

COMPOSERS: Final[dict[str, Composer]] = {
    "live_chart": compose_chart,
    "live_counting": compose_counting,
    "live_spatial": compose_spatial,
    "live_table": compose_table,
    "live_unanswerable": compose_unanswerable,
    "mmbench_circular_mini": compose_choice,
}
