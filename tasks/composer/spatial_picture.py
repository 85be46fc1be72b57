"""Shelves with a question about where products stand to each other (`live_spatial`)."""

import math
import random
from itertools import product
from typing import Final

from tliveomni_eval.tasks.composer.picture_set import Picture, Question
from tliveomni_eval.tasks.composer.shelf import Shelf, ShelfItem, distinct_products, draw_shelf, places
from tliveomni_eval.tasks.composer.shelf_words import Script

RELATIONS: Final = ("left_of", "right_of", "above", "below", "nearest")
SCRIPTS: Final[tuple[Script, ...]] = ("en", "zh")
_COLUMNS, _ROWS = 4, 2
# The nearest product is nearer than the next one by more than twice the shift that a picture gives to each, in pixels.
_CLEARLY_NEARER_PX: Final = 60
_PROMPTS: Final[dict[Script, dict[str, str]]] = {
    "en": {
        "left_of": "Which product is the next one to the left of the {} on the same board?",
        "right_of": "Which product is the next one to the right of the {} on the same board?",
        "above": "Which product stands directly above the {}?",
        "below": "Which product stands directly below the {}?",
        "nearest": "Which product is nearest to the {}?",
    },
    "zh": {
        "left_of": "同一层货架上，{}左边紧挨着的下一件商品是什么？",
        "right_of": "同一层货架上，{}右边紧挨着的下一件商品是什么？",
        "above": "{}正上方的商品是什么？",
        "below": "{}正下方的商品是什么？",
        "nearest": "离{}最近的商品是什么？",
    },
}
_FORM: Final[dict[Script, str]] = {
    "en": " Answer with colour and product only, for example: red mug.",
    "zh": "只输出颜色和商品，例如：红色杯子。",
}


def compose_spatial(number: int, rng: random.Random) -> Picture:
    """The picture of a number; 10 consecutive ones hold each relation and language once."""
    relation, script = list(product(RELATIONS, SCRIPTS))[number % (len(RELATIONS) * len(SCRIPTS))]
    while True:
        count = rng.randint(4, 7)
        spots = places(rng, _COLUMNS, _ROWS, count)
        products = distinct_products(rng, count)
        items = [ShelfItem(*what, *spot) for what, spot in zip(products, spots, strict=True)]
        shelf = Shelf(_COLUMNS, _ROWS, tuple(items))
        anchor = rng.choice(items)
        answer = related_item(shelf, anchor, relation)
        if answer is not None:
            break
    names = [item.name(script) for item in items if item is not anchor]
    question = Question(
        suffix="",
        prompt=_PROMPTS[script][relation].format(anchor.name(script)) + _FORM[script],
        reference=answer.name(script),
        slices={"lang": script, "relation": relation},
        context={"options": sorted(names)},
    )
    return Picture(draw_shelf(rng, shelf), (question,))


def related_item(shelf: Shelf, anchor: ShelfItem, relation: str) -> ShelfItem | None:
    """The item that stands in a relation to the anchor; None where there is none, or where it is not clear.

    Args:
        shelf: The shelf.
        anchor: An item of it.
        relation: One of ``RELATIONS``.
    """
    others = [item for item in shelf.items if item is not anchor]
    if relation in ("left_of", "right_of"):
        sign = -1 if relation == "left_of" else 1
        beside = [item for item in others if item.row == anchor.row and sign * (item.column - anchor.column) > 0]
        return min(beside, key=lambda item: abs(item.column - anchor.column), default=None)
    if relation in ("above", "below"):
        row = anchor.row + (-1 if relation == "above" else 1)
        return next((item for item in others if (item.column, item.row) == (anchor.column, row)), None)
    here = shelf.center(anchor)
    ordered = sorted(others, key=lambda item: math.dist(here, shelf.center(item)))
    nearest, second = (math.dist(here, shelf.center(item)) for item in ordered[:2])
    return ordered[0] if second - nearest > _CLEARLY_NEARER_PX else None
