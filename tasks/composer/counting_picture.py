"""Shelves with a counting question (`live_counting`)."""

import random
from itertools import product
from typing import Final

from tliveomni_eval.tasks.composer.picture_set import Picture, Question
from tliveomni_eval.tasks.composer.product_shapes import COLORS, KINDS
from tliveomni_eval.tasks.composer.shelf import Shelf, ShelfItem, draw_shelf, places
from tliveomni_eval.tasks.composer.shelf_words import COLOR_WORDS, KIND_WORDS, Script, plural

COUNTS: Final = {"1-3": (1, 3), "4-6": (4, 6), "7-9": (7, 9), "10-12": (10, 12)}
SCRIPTS: Final[tuple[Script, ...]] = ("en", "zh")
TARGETS: Final = ("kind", "colour_and_kind")
_COLUMNS, _ROWS = 6, 3
_PROMPTS: Final[dict[Script, str]] = {
    "en": "How many {} are on the shelf? Answer with a number only, for example 3.",
    "zh": "货架上一共有多少个{}？只输出一个数字，例如 3。",
}


def compose_counting(number: int, rng: random.Random) -> Picture:
    """The picture of a number; 16 consecutive ones hold each count range, language and target once."""
    grid = list(product(COUNTS, SCRIPTS, TARGETS))
    count_range, script, target = grid[number % len(grid)]
    count = rng.randint(*COUNTS[count_range])
    kind, color = rng.choice(KINDS), rng.choice(list(COLORS))
    if target == "kind":
        wanted = [(kind, rng.choice(list(COLORS))) for _ in range(count)]
        distractors = [(other, shade) for other, shade in product(KINDS, COLORS) if other != kind]
    else:
        wanted = [(kind, color)] * count
        # Products that share the kind or the colour, but not both, are what is counted by mistake.
        distractors = [(other, shade) for other, shade in product(KINDS, COLORS) if (other == kind) != (shade == color)]
    free = _COLUMNS * _ROWS - count
    others = [rng.choice(distractors) for _ in range(rng.randint(min(3, free), min(6, free)))]
    products = wanted + others
    spots = places(rng, _COLUMNS, _ROWS, len(products))
    items = tuple(ShelfItem(*product_, *spot) for product_, spot in zip(products, spots, strict=True))
    if script == "zh":
        name = KIND_WORDS["zh"][kind] if target == "kind" else COLOR_WORDS["zh"][color] + KIND_WORDS["zh"][kind]
    else:
        name = plural(kind) if target == "kind" else f"{color} {plural(kind)}"
    question = Question(
        suffix="",
        prompt=_PROMPTS[script].format(name),
        reference=str(count),
        slices={"count": count_range, "lang": script, "target": target},
    )
    return Picture(draw_shelf(rng, Shelf(_COLUMNS, _ROWS, items)), (question,))
