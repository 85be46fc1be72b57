"""Decide what a stream shows when: product segments with their shots, and what lies between them."""

import random
from dataclasses import dataclass, replace
from typing import Final, Literal

from tliveomni_eval.tasks.composer.catalogue import Side
from tliveomni_eval.tasks.composer.products.product import COLOURS, KINDS, Kind, Product, draw_product, look_alike
from tliveomni_eval.tasks.composer.stream.stream_space import (
    DURATIONS,
    SEGMENTS,
    TICKS_PER_SECOND,
    Evidence,
    Language,
)

ShotKind = Literal["host", "host_with_product", "close_up", "price_card", "transition", "cutaway"]
_PRODUCT_SHOTS: Final[tuple[ShotKind, ...]] = ("host_with_product", "close_up", "price_card")
_SHORTEST_SEGMENT: Final = 28
_SHORTEST_GAP: Final = 12


@dataclass(frozen=True)
class Offer:
    """A product of the stream and its price in whole yuan."""

    product: Product
    price: int


@dataclass(frozen=True)
class Shot:
    """What is seen from one tick to another (exclusive); `offer` is its number among the stream's offers."""

    kind: ShotKind
    start: int
    end: int
    offer: int | None = None


@dataclass(frozen=True)
class Segment:
    """The time in which a product is presented; all of it is seen (or, with evidence `heard`, none of it)."""

    offer: int
    start: int
    end: int
    evidence: Evidence


@dataclass(frozen=True)
class StreamPlan:
    """A stream, decided but not drawn. Times are in ticks of 0.1 s."""

    lang: Language
    ticks: int
    offers: tuple[Offer, ...]
    segments: tuple[Segment, ...]
    shots: tuple[Shot, ...]
    duration: str
    segment_count: str

    def spans_of_offer(self, offer: int) -> list[tuple[float, float]]:
        """Start and end in seconds of each segment of an offer."""
        return [_seconds(segment.start, segment.end) for segment in self.segments if segment.offer == offer]

    def spans_of_price(self, price: int) -> list[tuple[float, float]]:
        """Start and end in seconds of each stretch in which a price card shows the price."""
        spans: list[tuple[int, int]] = []
        for shot in self.shots:
            if shot.kind == "price_card" and shot.offer is not None and self.offers[shot.offer].price == price:
                if spans and spans[-1][1] == shot.start:
                    spans[-1] = (spans[-1][0], shot.end)
                else:
                    spans.append((shot.start, shot.end))
        return [_seconds(start, end) for start, end in spans]


def _seconds(start: int, end: int) -> tuple[float, float]:
    return (start / TICKS_PER_SECOND, end / TICKS_PER_SECOND)


def plan_stream(
    rng: random.Random,
    side: Side,
    lang: Language,
    duration: str,
    segment_count: str,
    evidence: Evidence = "seen",
    kinds: tuple[Kind, ...] = KINDS,
) -> StreamPlan:
    """Plan a stream.

    Args:
        rng: Source of all decisions.
        side: Whose brands and product forms are drawn.
        lang: Of what is written and asked.
        duration: Slice value of its length.
        segment_count: Slice value of its number of product segments.
        evidence: How its products are presented.
        kinds: What its products are drawn from.
    """
    shortest, longest = DURATIONS[duration]
    ticks = rng.randint(shortest * TICKS_PER_SECOND, longest * TICKS_PER_SECOND)
    count = rng.randint(*SEGMENTS[segment_count])
    order = _offer_order(rng, count)
    offers = _draw_offers(rng, side, max(order) + 1, kinds)
    lengths = _split(rng, round(ticks * rng.uniform(0.6, 0.74)), count, _SHORTEST_SEGMENT)
    gaps = _split(rng, ticks - sum(lengths), count + 1, _SHORTEST_GAP)
    shots: list[Shot] = []
    segments: list[Segment] = []
    at = 0
    for number in range(count):
        shots += _gap_shots(rng, at, at + gaps[number], leads_on=True)
        at += gaps[number]
        segment = Segment(order[number], at, at + lengths[number], evidence)
        segments.append(segment)
        shots += _segment_shots(rng, segment)
        at = segment.end
    shots += _gap_shots(rng, at, ticks, leads_on=False)
    return StreamPlan(lang, ticks, offers, tuple(segments), tuple(shots), duration, segment_count)


def _offer_order(rng: random.Random, count: int) -> list[int]:
    """Which offer each segment presents: a new one, or from the third segment on at times an earlier one again."""
    order = [0]
    while len(order) < count:
        earlier = [offer for offer in set(order) if offer != order[-1] and order.count(offer) < 3]
        order.append(rng.choice(sorted(earlier)) if earlier and rng.random() < 0.35 else max(order) + 1)
    return order


def _draw_offers(rng: random.Random, side: Side, count: int, kinds: tuple[Kind, ...]) -> tuple[Offer, ...]:
    """Offers of which no two look alike or cost the same."""
    offers: list[Offer] = []
    while len(offers) < count:
        product = draw_product(rng, side, rng.choice(kinds), rng.choice(COLOURS))
        price = rng.choice((rng.randint(9, 99), rng.randint(100, 999)))
        is_new = all(
            offer.price != price
            and not (offer.product.kind == product.kind and look_alike(offer.product.colour, product.colour))
            for offer in offers
        )
        if is_new:
            offers.append(Offer(product, price))
    return tuple(offers)


def _split(rng: random.Random, total: int, parts: int, least: int) -> list[int]:
    """Random whole parts of a total, each at least `least`."""
    weights = [rng.uniform(0.5, 1.5) for _ in range(parts)]
    free = total - parts * least
    lengths = [least + int(free * weight / sum(weights)) for weight in weights]
    lengths[-1] += total - sum(lengths)
    return lengths


def _segment_shots(rng: random.Random, segment: Segment) -> list[Shot]:
    length = segment.end - segment.start
    if segment.evidence == "heard":
        return [Shot("host", segment.start, segment.end)]
    pieces = max(2, min(length // 14, round(length / rng.uniform(24, 48))))
    kinds = list(_PRODUCT_SHOTS)
    if pieces == 2:
        kinds = [rng.choice(("host_with_product", "close_up")), "price_card"]
    shots = []
    at = segment.start
    for number, piece in enumerate(_split(rng, length, pieces, 12)):
        shots.append(Shot(kinds[number % len(kinds)], at, at + piece, segment.offer))
        at += piece
    return shots


def _gap_shots(rng: random.Random, start: int, end: int, leads_on: bool) -> list[Shot]:
    """The host alone, at times a film clip, and before the next product a transition."""
    transition = min(rng.randint(5, 9), end - start - 1) if leads_on and start > 0 else 0
    shots = [Shot("host", start, end - transition)]
    length = end - transition - start
    if length >= 40 and rng.random() < 0.5:
        clip_start = start + rng.randint(10, length - 30)
        clip_end = min(clip_start + rng.randint(20, 50), end - transition)
        shots = [replace(shots[0], end=clip_start), Shot("cutaway", clip_start, clip_end)]
        if clip_end < end - transition:
            shots.append(Shot("host", clip_end, end - transition))
    if transition:
        shots.append(Shot("transition", end - transition, end))
    return shots
