"""Pictures with a multiple-choice question under every rotation of its options (`mmbench_circular_mini`)."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tliveomni_eval.evals.metrics.circular_eval import rotation_of, rotations
from tliveomni_eval.tasks.choice_prompt import choice_prompt
from tliveomni_eval.tasks.composer.card_text import draw_promo
from tliveomni_eval.tasks.composer.picture_set import Picture, Question
from tliveomni_eval.tasks.composer.product_shapes import COLORS, KINDS
from tliveomni_eval.tasks.composer.shelf import Shelf, ShelfItem, distinct_products, draw_shelf, places
from tliveomni_eval.tasks.composer.shelf_prices import distinct_prices
from tliveomni_eval.tasks.composer.shelf_words import COLOR_WORDS, KIND_WORDS, Script, plural

OPTION_COUNTS: Final = (2, 3, 4)
SCRIPTS: Final[tuple[Script, ...]] = ("en", "zh")


@dataclass(frozen=True)
class Asked:
    """A question before its options are ordered: what is right and what is wrong, all different."""

    shelf: Shelf
    text: str
    right: str
    wrong: tuple[str, ...]
    title: str = ""


Maker = Callable[[random.Random, Script, int], Asked]


def _filled_shelf(rng: random.Random, count: int, with_prices: bool = False, columns: int = 4) -> Shelf:
    products = distinct_products(rng, count)
    spots = places(rng, columns, 2, count)
    prices = distinct_prices(rng, count) if with_prices else [""] * count
    items = [ShelfItem(*product, *spot, price) for product, spot, price in zip(products, spots, prices, strict=True)]
    return Shelf(columns, 2, tuple(items))


def _price_comparison(rng: random.Random, script: Script, options: int) -> Asked:
    shelf = _filled_shelf(rng, rng.randint(max(4, options), 7), with_prices=True)
    chosen = rng.sample(shelf.items, options)
    cheapest = rng.random() < 0.5
    ordered = sorted(chosen, key=lambda item: int(item.price[1:]), reverse=not cheapest)
    if script == "en":
        text = f"Which of these products is the {'cheapest' if cheapest else 'most expensive'}?"
    else:
        text = f"下列商品中，哪一个最{'便宜' if cheapest else '贵'}？"
    return Asked(shelf, text, ordered[0].name(script), tuple(item.name(script) for item in ordered[1:]))


def _counting(rng: random.Random, script: Script, options: int) -> Asked:
    kind = rng.choice(KINDS)
    count = rng.randint(1, 6)
    colors = [rng.choice(list(COLORS)) for _ in range(count)]
    others = [product for product in distinct_products(rng, 12) if product[0] != kind][: rng.randint(2, 4)]
    products = [(kind, color) for color in colors] + others
    spots = places(rng, 5, 2, len(products))
    shelf = Shelf(5, 2, tuple(ShelfItem(*product, *spot) for product, spot in zip(products, spots, strict=True)))
    wrong = rng.sample([number for number in range(max(0, count - 2), count + 4) if number != count], options - 1)
    if script == "en":
        text = f"How many {plural(kind)} are on the shelf?"
    else:
        text = f"货架上一共有多少个{KIND_WORDS['zh'][kind]}？"
    return Asked(shelf, text, str(count), tuple(map(str, wrong)))


def _colour(rng: random.Random, script: Script, options: int) -> Asked:
    kinds = rng.sample(KINDS, rng.randint(4, 6))
    colors = [rng.choice(list(COLORS)) for _ in kinds]
    spots = places(rng, 4, 2, len(kinds))
    items = [ShelfItem(kind, color, *spot) for kind, color, spot in zip(kinds, colors, spots, strict=True)]
    asked = rng.choice(items)
    shown = [color for color in dict.fromkeys(colors) if color != asked.color]
    unseen = [color for color in COLORS if color not in colors]
    wrong = (rng.sample(shown, len(shown)) + rng.sample(unseen, len(unseen)))[: options - 1]
    kind = KIND_WORDS[script][asked.kind]
    text = f"What colour is the {kind}?" if script == "en" else f"图中的{kind}是什么颜色？"
    words = COLOR_WORDS[script]
    return Asked(Shelf(4, 2, tuple(items)), text, words[asked.color], tuple(words[color] for color in wrong))


def _position(rng: random.Random, script: Script, options: int) -> Asked:
    while True:
        shelf = _filled_shelf(rng, rng.randint(max(5, options + 1), 7))
        board = rng.randrange(2)
        row = sorted((item for item in shelf.items if item.row == board), key=lambda item: item.column)
        if len(row) >= 2:
            break
    at = rng.randrange(len(row) - 1)
    first, second = row[at : at + 2]
    to_left = rng.random() < 0.5
    right, anchor = (first, second) if to_left else (second, first)
    wrong = rng.sample([item for item in shelf.items if item not in (right, anchor)], options - 1)
    name = anchor.name(script)
    if script == "en":
        text = f"Which product is the next one to the {'left' if to_left else 'right'} of the {name} on the same board?"
    else:
        text = f"同一层货架上，{name}{'左' if to_left else '右'}边紧挨着的下一件商品是什么？"
    return Asked(shelf, text, right.name(script), tuple(item.name(script) for item in wrong))


def _text_reading(rng: random.Random, script: Script, options: int) -> Asked:
    while True:
        promos = list(dict.fromkeys(draw_promo(rng, script) for _ in range(3 * options)))
        if len(promos) >= options:
            break
    text = "What does the red banner say?" if script == "en" else "红色横幅上写的是什么？"
    return Asked(_filled_shelf(rng, rng.randint(3, 6)), text, promos[0], tuple(promos[1:options]), title=promos[0])


def _product_kind(rng: random.Random, script: Script, options: int) -> Asked:
    shelf = _filled_shelf(rng, rng.randint(3, 5))
    shown = {item.kind for item in shelf.items}
    right = rng.choice(sorted(shown))
    wrong = rng.sample([kind for kind in KINDS if kind not in shown], options - 1)
    words = KIND_WORDS[script]
    text = "Which of these products is on the shelf?" if script == "en" else "下列商品中，哪一种摆在货架上？"
    return Asked(shelf, text, words[right], tuple(words[kind] for kind in wrong))


CATEGORIES: Final[dict[str, tuple[str, Maker]]] = {
    "price_comparison": ("relation_reasoning", _price_comparison),
    "counting": ("finegrained_perception_cross_instance", _counting),
    "colour": ("finegrained_perception_instance", _colour),
    "position": ("finegrained_perception_cross_instance", _position),
    "text_reading": ("finegrained_perception_instance", _text_reading),
    "product_kind": ("coarse_perception", _product_kind),
}
"""Leaf category: its L2 category, named as in MMBench, and what makes its questions."""


def compose_choice(number: int, rng: random.Random) -> Picture:
    """The picture of a number with its question under all rotations.

    36 consecutive numbers hold each combination of category, number of options and language once; where the right
    option stands first rotates through its places.
    """
    turn, cell = divmod(number, len(CATEGORIES) * len(OPTION_COUNTS) * len(SCRIPTS))
    category_at, rest = divmod(cell, len(OPTION_COUNTS) * len(SCRIPTS))
    options_at, script_at = divmod(rest, len(SCRIPTS))
    category = list(CATEGORIES)[category_at]
    count, script = OPTION_COUNTS[options_at], SCRIPTS[script_at]
    l2_category, make = CATEGORIES[category]
    asked = make(rng, script, count)
    wrong = rng.sample(asked.wrong, len(asked.wrong))
    answer = (turn + category_at + script_at) % count
    options = [*wrong[:answer], asked.right, *wrong[answer:]]
    slices = {"category": category, "l2_category": l2_category, "lang": script, "options": str(count)}
    questions = [
        Question(
            suffix=f"r{rotation_of(request.index)}",
            prompt=choice_prompt(asked.text, request.options, script),
            reference=request.answer,
            slices=slices,
            context={
                "index": request.index,
                "options": dict(request.options),
                "category": category,
                "l2_category": l2_category,
            },
        )
        for request in rotations(number, options, answer)
    ]
    return Picture(draw_shelf(rng, asked.shelf, asked.title), tuple(questions))
