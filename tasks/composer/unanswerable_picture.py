"""Shelves with two questions each: one that the picture answers, and its twin that nobody can answer from it."""

import random
from itertools import product
from typing import Final

from tliveomni_eval.tasks.composer.picture_set import Picture, Question
from tliveomni_eval.tasks.composer.shelf import Shelf, ShelfItem, distinct_products, draw_shelf, places
from tliveomni_eval.tasks.composer.shelf_prices import distinct_prices
from tliveomni_eval.tasks.composer.shelf_words import Script

REASONS: Final = ("absent_product", "covered_tag", "no_tag")
SCRIPTS: Final[tuple[Script, ...]] = ("en", "zh")
_COLUMNS, _ROWS = 4, 2
_PROMPTS: Final[dict[Script, str]] = {
    "en": "What is the price of the {}? Answer with the price only, for example ¥12. "
    "If the picture does not show it, answer: cannot tell.",
    "zh": "{}的价格是多少？只输出价格，例如 ¥12。如果图中看不出来，请回答：无法判断。",
}


def compose_unanswerable(number: int, rng: random.Random) -> Picture:
    """The picture of a number with its twins; 6 consecutive ones hold each reason and language once."""
    reason, script = list(product(REASONS, SCRIPTS))[number % (len(REASONS) * len(SCRIPTS))]
    count = rng.randint(4, 7)
    products = distinct_products(rng, count + 1)
    spots = places(rng, _COLUMNS, _ROWS, count)
    prices = distinct_prices(rng, count)
    items = [ShelfItem(*what, *spot, price) for what, spot, price in zip(products[:count], spots, prices, strict=True)]
    answerable = rng.choice(items[1:])
    hidden = ShelfItem(*products[count], 0, 0)
    if reason != "absent_product":
        untold = "?" if reason == "covered_tag" else ""
        hidden = ShelfItem(items[0].kind, items[0].color, items[0].column, items[0].row, untold)
        items[0] = hidden
    shared = {"lang": script, "reason": reason}
    questions = (
        Question(
            suffix="a",
            prompt=_PROMPTS[script].format(answerable.name(script)),
            reference=answerable.price,
            slices=shared | {"answerable": "yes"},
        ),
        Question(
            suffix="u",
            prompt=_PROMPTS[script].format(hidden.name(script)),
            reference=None,
            slices=shared | {"answerable": "no"},
        ),
    )
    return Picture(draw_shelf(rng, Shelf(_COLUMNS, _ROWS, tuple(items))), questions)
