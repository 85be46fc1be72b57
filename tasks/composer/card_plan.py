"""Decide what a frame shows: the asked text, the lines around it, the panel, and where everything goes."""

import math
import random
from dataclasses import dataclass
from typing import Final, cast

from tliveomni_eval.tasks.composer import card_text
from tliveomni_eval.tasks.composer.asked_text import AskedText, CardStyle, draw_asked_text
from tliveomni_eval.tasks.composer.card_layout import THEMES, Block, Card, Role, Row, Segment, Table, Theme
from tliveomni_eval.tasks.composer.card_text import Language, Script
from tliveomni_eval.tasks.composer.catalogue import CATEGORIES, Side
from tliveomni_eval.tasks.composer.frame_elements import Box, Comment, Element, HostPill, StreamIcons, overlaps
from tliveomni_eval.tasks.composer.photographs import draw_thumbnail
from tliveomni_eval.tasks.composer.prompts import Field
from tliveomni_eval.tasks.composer.sample_space import IMAGE_SIZES, LINE_COUNTS, TEXT_HEIGHTS
from tliveomni_eval.tasks.composer.typefaces import usable_typefaces

# Pixels between the frame's edge and what lies in it.
MARGIN: Final = 6


@dataclass(frozen=True)
class CardPlan:
    """A frame, decided but not drawn: ``card`` at ``position``, ``elements`` around it, the answer and the slices."""

    field: Field
    lang: Language
    reference: str
    values: dict[str, str]
    size: tuple[int, int]
    text_height: int
    line_count: int
    card: Card
    position: tuple[int, int]
    elements: tuple[Element, ...]
    angle: float
    contrast: float


def plan_card(
    rng: random.Random, side: Side, values: dict[str, str], size: tuple[int, int] | None, hurry: float
) -> CardPlan | None:
    """One attempt at a frame with the given slice values; None if the drawn texts do not fit.

    Args:
        rng: source of all decisions.
        side: whose brands and product types to use.
        values: ``field``, ``lang``, ``text_px``, ``quality`` and ``lines``.
        size: image size in pixels, drawn if None.
        hurry: 0 at the first attempt, towards 1 at the last: later attempts take smaller texts and larger images.
    """
    field, lang, quality = cast(Field, values["field"]), cast(Language, values["lang"]), values["quality"]
    if size is None:
        weights = [weight * (1 if hurry < 0.3 else area) for area, weight in enumerate(IMAGE_SIZES.values(), 1)]
        size = rng.choices(list(IMAGE_SIZES), weights)[0]
    style = CardStyle(
        side=side,
        lang=lang,
        category=rng.choice(CATEGORIES),
        theme=_draw_theme(rng, quality),
        body_face=rng.choice(usable_typefaces("国", 12)),
        width=size[0] - 2 * MARGIN - 12,
        height=size[1] - 2 * MARGIN - 12,
    )
    lowest, highest = TEXT_HEIGHTS[values["text_px"]]
    fewest, most = LINE_COUNTS[values["lines"]]
    asked = draw_asked_text(rng, style, field, lowest if hurry > 0.5 else rng.randint(lowest, highest), most)
    if asked is None:
        return None
    line_count = rng.randint(max(fewest, asked.line_count), max(most if hurry < 0.5 else fewest, asked.line_count))
    rows = _extra_rows(rng, style, field, rng.randint(0, line_count - asked.line_count))
    elements = _elements(rng, style, size, line_count - asked.line_count - len(rows))
    card = _arrange(rng, style, field, asked, rows, may_show_picture=hurry < 0.4)
    angle = rng.choice((-1, 1)) * rng.uniform(4, 14) if quality == "rotated" else 0.0
    position = _free_position(rng, size, card, elements, angle)
    if position is None:
        return None
    return CardPlan(
        field=field,
        lang=lang,
        reference=asked.reference,
        values=values,
        size=size,
        text_height=asked.height,
        line_count=line_count,
        card=card,
        position=position,
        elements=(*elements, *_stream_icons(rng, size, card, position, angle)),
        angle=angle,
        contrast=_contrast(rng, style.theme, asked) if quality == "low_contrast" else 1.0,
    )


def _draw_theme(rng: random.Random, quality: str) -> Theme:
    weights = {"white": 5, "dark": 3, "red": 2, "orange": 1.5, "yellow": 1.5, "pink": 1.5, "mint": 1, "violet": 1}
    if quality in ("clean", "jpeg", "blur"):
        weights["none"] = 3
    if quality == "low_contrast":
        # A translucent panel would let the background decide the contrast.
        del weights["dark"]
    return THEMES[rng.choices(list(weights), list(weights.values()))[0]]


def _contrast(rng: random.Random, theme: Theme, asked: AskedText) -> float:
    """Share of the asked text's contrast that leaves 34 to 64 of 255 grey levels between ink and paper."""
    block = asked.blocks[0]
    role = "text" if isinstance(block, Table) else next(s.role for s in block.segments if s.asked)
    ink, paper = {
        "text": (theme.text, theme.paper),
        "accent": (theme.accent, theme.paper),
        "badge": (theme.badge_text, theme.badge),
    }[role]
    levels = rng.uniform(46, 64) if asked.height < 14 else rng.uniform(34, 56)
    return min(1.0, levels / max(1.0, abs(_luma(ink) - _luma(paper))))


def _luma(color: tuple[int, int, int]) -> float:
    return 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2]


def _extra_rows(rng: random.Random, style: CardStyle, field: Field, count: int) -> list[tuple[str, Row]]:
    """Up to ``count`` rows of other fields and slogans that fit, each with its kind."""
    kinds = [kind for kind in ("name", "price", "sku", "promo") if kind != field]
    if field in ("sku", "name"):
        kinds.append("lot")
    kinds += ["slogan", "button"]
    if field == "table":
        kinds = ["title", "slogan", "name"]
    weights = {"name": 5, "price": 4, "title": 4}
    kinds.sort(key=lambda kind: rng.random() * weights.get(kind, 1), reverse=True)
    rows = []
    for kind in kinds[:count]:
        row = _extra_row(rng, style, kind, rng.choice((11, 12, 12, 13, 14, 16, 18)))
        if row.width > style.width:
            row = _extra_row(rng, style, kind, 11)
        if row.width <= style.width:
            rows.append((kind, row))
    return rows


def _extra_row(rng: random.Random, style: CardStyle, kind: str, height: int) -> Row:
    role: Role = "text"
    if kind == "name":
        text = card_text.draw_name(rng, style.side, style.category, style.lang)
    elif kind == "price":
        price = card_text.draw_price(rng, style.category, style.lang)
        text, role, height = price.printed, "accent", height + 4
    elif kind in ("sku", "lot"):
        labels = card_text.SKU_LABELS if kind == "sku" else card_text.LOT_LABELS
        text, role = f"{card_text.draw_short_text(rng, style.lang, labels)}: {card_text.draw_sku(rng)}", "muted"
    elif kind == "promo":
        text, role = card_text.draw_promo(rng, style.draw_script(rng)), "badge"
    elif kind == "button":
        text, role = card_text.draw_short_text(rng, style.lang, card_text.BUY_BUTTONS), "button"
    else:
        texts = card_text.TABLE_TITLES if kind == "title" else card_text.SLOGANS
        text, role = card_text.draw_short_text(rng, style.lang, texts), "text" if kind == "title" else "muted"
    return Row((Segment(text, style.body_face, height, role),))


def _arrange(
    rng: random.Random,
    style: CardStyle,
    field: Field,
    asked: AskedText,
    rows: list[tuple[str, Row]],
    may_show_picture: bool,
) -> Card:
    """The card: blocks in the order in which shops print them, sometimes the asked one first, often with a picture."""
    order = ["title", "promo", "name", "slogan", "table", "price", "sku", "lot", "button"]
    groups: list[tuple[int, tuple[Block, ...]]] = [(order.index(kind), (row,)) for kind, row in rows]
    groups.append((-1 if rng.random() < 0.15 else order.index(field), asked.blocks))
    blocks = tuple(block for _, group in sorted(groups, key=lambda group: group[0]) for block in group)
    centered = field == "promo" or rng.random() < 0.25
    card = Card(blocks, style.theme, None, centered)
    picture = min(card.content_height, style.width // 4, 140)
    if may_show_picture and field != "table" and style.theme.opacity and picture >= 36 and rng.random() < 0.6:
        return Card(blocks, style.theme, draw_thumbnail(rng, picture), centered)
    return card


def _elements(rng: random.Random, style: CardStyle, size: tuple[int, int], count: int) -> tuple[Element, ...]:
    """``count`` text lines outside the card: the host's pill on top, viewers' comments at the bottom left."""
    elements: list[Element] = []
    if count and rng.random() < 0.7:
        script = style.draw_script(rng)
        text = f"{rng.choice(card_text.HOSTS[script])}  {card_text.draw_viewers(rng, script)}"
        elements.append(HostPill.at((MARGIN, MARGIN), text, style.body_face, rng))
    scripts: tuple[Script, ...] = ("zh", "en") if style.lang == "mixed" else (style.lang,)
    comments = [text for script in scripts for text in card_text.COMMENTS[script]]
    bottom = size[1] - MARGIN
    for text in rng.sample(comments, min(len(comments), count - len(elements))):
        comment = Comment.above((MARGIN, bottom), text, style.body_face, rng)
        bottom = comment.box[1] - 3
        elements.append(comment)
    return tuple(elements)


def _free_position(
    rng: random.Random, size: tuple[int, int], card: Card, elements: tuple[Element, ...], angle: float
) -> tuple[int, int] | None:
    """A place for the (rotated) card inside the frame where it covers no element, mostly at the bottom."""
    width, height = card.size
    turn_x, turn_y = _rotation_overhang(width, height, angle)
    reach_x = size[0] - width - 2 * turn_x - 2 * MARGIN
    reach_y = size[1] - height - 2 * turn_y - 2 * MARGIN
    if reach_x < 0 or reach_y < 0:
        return None
    for _ in range(12):
        left = MARGIN + turn_x + rng.randint(0, reach_x)
        top = MARGIN + turn_y + rng.choice((reach_y, reach_y, rng.randint(0, reach_y)))
        box = _turned_box(card, (left, top), angle)
        if not any(overlaps(box, element.box) for element in elements):
            return left, top
    return None


def _stream_icons(
    rng: random.Random, size: tuple[int, int], card: Card, position: tuple[int, int], angle: float
) -> tuple[Element, ...]:
    """The buttons at the right edge of a live stream, where the card leaves room for them."""
    icons = StreamIcons.above((size[0] - MARGIN, size[1] - MARGIN), rng)
    if rng.random() < 0.5 or overlaps(icons.box, _turned_box(card, position, angle)):
        return ()
    return (icons,)


def _turned_box(card: Card, position: tuple[int, int], angle: float) -> Box:
    """The upright box around a rotated card."""
    width, height = card.size
    turn_x, turn_y = _rotation_overhang(width, height, angle)
    left, top = position
    return left - turn_x, top - turn_y, left + width + turn_x, top + height + turn_y


def _rotation_overhang(width: int, height: int, angle: float) -> tuple[int, int]:
    """Pixels that a rotated rectangle reaches beyond its upright box, left and right, and above and below."""
    radians = math.radians(abs(angle))
    wide = width * math.cos(radians) + height * math.sin(radians)
    high = width * math.sin(radians) + height * math.cos(radians)
    return max(0, math.ceil((wide - width) / 2)), max(0, math.ceil((high - height) / 2))
