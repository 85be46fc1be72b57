"""Questions about a planned stream, with the spans that answer them, and some that nothing in the stream answers."""

import random
from dataclasses import dataclass
from typing import Final, Literal

from tliveomni_eval.tasks.composer.products.product import (
    COLOUR_NAMES,
    COLOURS,
    KIND_NAMES,
    KINDS,
    Colour,
    Kind,
    look_alike,
)
from tliveomni_eval.tasks.composer.stream.stream_plan import StreamPlan
from tliveomni_eval.tasks.composer.stream.stream_space import Evidence, Language
from tliveomni_eval.tasks.composer.stream.stream_speech import StreamSpeech

Subject = Literal["product", "price_card"]

PRODUCT_QUESTIONS: Final[dict[tuple[Evidence, Language], str]] = {
    ("seen", "zh"): "画面上什么时候有{name}？",
    ("seen", "en"): "When is the {name} in the picture?",
    ("heard", "zh"): "主播什么时候说到{name}？",
    ("heard", "en"): "When does the host say something about {name}?",
    ("both", "zh"): "主播介绍的{name}，什么时候在画面上？",
    ("both", "en"): "When is the product that the host calls {name} in the picture?",
}
PRICE_QUESTIONS: Final[dict[Language, str]] = {
    "zh": "价格牌上什么时候写着 ¥{price}？",
    "en": "When does the price card show ¥{price}?",
}


# What is asked about a stream, and about the first or the second of two of its offers.
_TURNS: Final = (
    (("product", 0), ("price", 1), ("no product", 0)),
    (("product", 0), ("product", 1), ("price", 0)),
    (("price", 0), ("product", 1), ("no price", 0)),
    (("product", 0), ("price", 1), ("price", 0)),
)


@dataclass(frozen=True)
class Question:
    """A question about a stream.

    Attributes:
        subject: A product, or the price on a price card.
        text: In the language of the stream.
        spans: Start and end in seconds, in order; empty where nothing answers it.
        evidence: What one needs to answer it.
    """

    subject: Subject
    text: str
    spans: tuple[tuple[float, float], ...]
    evidence: Evidence


def draw_questions(rng: random.Random, plan: StreamPlan, turn: int) -> tuple[Question, ...]:
    """Three questions about a stream; `turn` decides their kinds, and two in twelve have no answer."""
    kinds = _TURNS[turn % len(_TURNS)]
    asked = rng.sample(range(len(plan.offers)), 2)
    return tuple(_draw(rng, plan, kind, asked[number]) for kind, number in kinds)


def draw_spoken_questions(rng: random.Random, plan: StreamPlan, speech: StreamSpeech) -> tuple[Question, ...]:
    """Three questions that only hearing answers, or hearing and seeing together; the last has no answer."""
    evidence = plan.segments[0].evidence
    asked = rng.sample(range(len(plan.offers)), 2)
    text = PRODUCT_QUESTIONS[evidence, plan.lang].format(name=speech.unspoken)
    return (*(_about_name(plan, speech, evidence, offer) for offer in asked), Question("product", text, (), evidence))


def _about_name(plan: StreamPlan, speech: StreamSpeech, evidence: Evidence, offer: int) -> Question:
    spans = speech.spans[offer] if evidence == "heard" else tuple(plan.spans_of_offer(offer))
    text = PRODUCT_QUESTIONS[evidence, plan.lang].format(name=speech.names[offer])
    return Question("product", text, spans, evidence)


def _draw(rng: random.Random, plan: StreamPlan, kind: str, offer: int) -> Question:
    if kind == "product":
        product = plan.offers[offer].product
        return _about_product(plan, product.kind, product.colour, plan.spans_of_offer(offer))
    if kind == "no product":
        return _about_product(plan, *_absent_product(rng, plan), spans=[])
    price = plan.offers[offer].price
    if kind == "price" and plan.spans_of_price(price):
        return _about_price(plan, price)
    if kind == "price":
        return _draw(rng, plan, "product", offer)
    return _about_price(plan, _absent_price(rng, plan))


def _about_product(plan: StreamPlan, kind: Kind, colour: Colour, spans: list[tuple[float, float]]) -> Question:
    at = 0 if plan.lang == "zh" else 1
    name = COLOUR_NAMES[colour][at] + ("的" if plan.lang == "zh" else " ") + KIND_NAMES[kind][at]
    return Question("product", PRODUCT_QUESTIONS["seen", plan.lang].format(name=name), tuple(spans), "seen")


def _about_price(plan: StreamPlan, price: int) -> Question:
    spans = tuple(plan.spans_of_price(price))
    return Question("price_card", PRICE_QUESTIONS[plan.lang].format(price=price), spans, "seen")


def _absent_product(rng: random.Random, plan: StreamPlan) -> tuple[Kind, Colour]:
    """A product that is not in the stream though its kind or its colour is."""
    offers = [offer.product for offer in plan.offers]
    while True:
        kind, colour = rng.choice(KINDS), rng.choice(COLOURS)
        is_near = any(kind == product.kind or colour == product.colour for product in offers)
        is_there = any(kind == product.kind and look_alike(colour, product.colour) for product in offers)
        if is_near and not is_there:
            return kind, colour


def _absent_price(rng: random.Random, plan: StreamPlan) -> int:
    """A price that is on no card, one digit away from one that is."""
    prices = {offer.price for offer in plan.offers}
    while True:
        digits = list(str(rng.choice(sorted(prices))))
        digits[rng.randrange(len(digits))] = str(rng.randint(1, 9))
        price = int("".join(digits))
        if price not in prices:
            return price
