"""What a viewer of a planned stream certainly sees or hears: the facts of live_selling_points and live_caption."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

from tliveomni_eval.tasks.composer.products.product import COLOUR_NAMES, KIND_NAMES, Colour, Kind, Product
from tliveomni_eval.tasks.composer.stream.stream_plan import Offer, StreamPlan
from tliveomni_eval.tasks.composer.stream.stream_space import Language
from tliveomni_eval.tasks.composer.stream.stream_speech import StreamSpeech, spoken_name

GRAMMAR_FILE: Final = Path(__file__).parents[1] / "speech_grammar.json"
Fact = dict[str, Any]

# What else a viewer may call the drawn products; the price cards of streams name a tube and a bag in their own way.
_KIND_ALIASES: Final[dict[tuple[Kind, Language], tuple[str, ...]]] = {
    ("bottle", "zh"): ("瓶",),
    ("box", "zh"): ("盒", "包装盒", "礼盒"),
    ("tube", "zh"): ("护手霜",),
    ("mug", "zh"): ("杯子", "水杯"),
    ("shoe", "zh"): ("鞋子", "鞋"),
    ("bag", "zh"): ("手包", "包", "提包"),
    ("tube", "en"): ("hand cream",),
    ("mug", "en"): ("cup", "cups"),
    ("shoe", "en"): ("sneaker", "sneakers"),
    ("bag", "en"): ("bag", "bags"),
}
_HOST: Final[dict[Language, Fact]] = {
    "zh": {"text": "主播", "aliases": ["主持人", "女子", "女性", "女士", "女人", "男子", "男性", "人物", "一个人"]},
    "en": {"text": "host", "aliases": ["presenter", "streamer", "woman", "person", "seller", "anchor"]},
}


def selling_point_facts(plan: StreamPlan, speech: StreamSpeech | None) -> list[Fact]:
    """All that the prompt of live_selling_points asks for, for the stream's evidence."""
    offers = _presented(plan)
    if speech is None:
        looks = [_look(offer.product, plan.lang) for offer in offers]
        brands = [{"text": offer.product.brand, "kind": "brand"} for offer in offers]
        return _distinct([*looks, *brands, *_prices(plan, offers)])
    said = _said(speech, plan.lang)
    return _distinct([*said, *(_prices(plan, offers) if plan.segments[0].evidence == "both" else [])])


def caption_facts(plan: StreamPlan) -> list[Fact]:
    """The host and each product that is in the picture: its kind, and its kind with its colour."""
    host = _HOST[plan.lang] | {"kind": "host"}
    products = [offer.product for offer in _presented(plan)]
    kinds = [_kind(product.kind, plan.lang) for product in products]
    return _distinct([host, *kinds, *(_look(product, plan.lang) for product in products)])


def _presented(plan: StreamPlan) -> list[Offer]:
    """The offers that are in the picture."""
    shown = {shot.offer for shot in plan.shots}
    return [offer for number, offer in enumerate(plan.offers) if number in shown]


def _kind_wordings(kind: Kind, lang: Language) -> list[str]:
    names = KIND_NAMES[kind][:1] if lang == "zh" else KIND_NAMES[kind][1:]
    return [*names, *_KIND_ALIASES.get((kind, lang), ())]


def _kind(kind: Kind, lang: Language) -> Fact:
    # One character alone ("包") stands in too many other words.
    text, *aliases = [name for name in _kind_wordings(kind, lang) if len(name) > 1]
    return {"text": text, "aliases": aliases, "kind": "product_kind"}


def _look(product: Product, lang: Language) -> Fact:
    text, *aliases = _coloured(product.colour, product.kind, lang)
    required = [COLOUR_NAMES[product.colour][0 if lang == "zh" else 1]]
    return {"text": text, "aliases": aliases, "kind": "product", "required": required}


def _coloured(colour: Colour, kind: Kind, lang: Language) -> Iterable[str]:
    for name in _kind_wordings(kind, lang):
        if lang == "en":
            yield f"{COLOUR_NAMES[colour][1]} {name}"
        else:
            yield f"{COLOUR_NAMES[colour][0]}的{name}"
            yield f"{COLOUR_NAMES[colour][0]}{name}"


def _prices(plan: StreamPlan, offers: Iterable[Offer]) -> list[Fact]:
    return [{"text": f"¥{offer.price}", "kind": "price"} for offer in offers if plan.spans_of_price(offer.price)]


def _said(speech: StreamSpeech, lang: Language) -> list[Fact]:
    facts: list[Fact] = []
    for utterance in (placed.utterance for placed in speech.placed):
        if len(utterance.names) >= 2:
            # How a brand is written cannot be heard, so the name of the product alone counts too.
            facts.append({"text": spoken_name(utterance, lang), "aliases": [utterance.names[1]], "kind": "name"})
    for placed in speech.placed:
        text = placed.utterance.text.casefold()
        for kind, before in (("praise", ""), ("service", ""), ("gift", "送" if lang == "zh" else "get ")):
            values = _grammar_values(lang, kind)
            facts += [{"text": value, "kind": kind} for value in values if before + value.casefold() in text]
    return facts


@cache
def _grammar_values(lang: Language, slot: str) -> tuple[str, ...]:
    grammar = json.loads(GRAMMAR_FILE.read_text(encoding="utf-8"))
    return tuple(grammar[lang]["slots"][slot])


def _distinct(facts: Iterable[Fact]) -> list[Fact]:
    return list({fact["text"]: fact for fact in facts}.values())
