"""Decide what a frame shows: the asked text, the lines around it, the panel, and where everything goes."""

import math
import random
from dataclasses import dataclass
from typing import Final, cast

from tliveomni_eval.tasks.composer import card_text
from tliveomni_eval.tasks.composer.card_layout import THEMES, Block, Card, Role, Row, Segment, Table, Theme
from tliveomni_eval.tasks.composer.card_text import Language, Script
from tliveomni_eval.tasks.composer.catalogue import CATEGORIES, Category, Side
from tliveomni_eval.tasks.composer.frame_elements import Box, Comment, Element, HostPill, overlaps
from tliveomni_eval.tasks.composer.photographs import draw_thumbnail
from tliveomni_eval.tasks.composer.prompts import Field
from tliveomni_eval.tasks.composer.sample_space import (
    IMAGE_SIZES,
    LINE_COUNTS,
    LOWEST_CHINESE_HEIGHT,
    TEXT_HEIGHTS,
)
from tliveomni_eval.tasks.composer.typefaces import Typeface, has_chinese, usable_typefaces

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


@dataclass(frozen=True)
class _Asked:
    """The asked field's blocks, its answer, and how many text lines the blocks have."""

    blocks: tuple[Block, ...]
    reference: str
    line_count: int


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
    composer = _CardComposer(rng, side, lang, rng.choice(CATEGORIES), size, quality, hurry)
    lowest, highest = TEXT_HEIGHTS[values["text_px"]]
    height = lowest if hurry > 0.5 else rng.randint(lowest, highest)
    asked = composer.asked(field, height, LINE_COUNTS[values["lines"]][1])
    if asked is None:
        return None
    fewest, most = LINE_COUNTS[values["lines"]]
    line_count = rng.randint(max(fewest, asked.line_count), max(most if hurry < 0.5 else fewest, asked.line_count))
    if line_count > most:
        return None
    placed = composer.surround(field, asked, line_count - asked.line_count)
    if placed is None:
        return None
    card, position, elements, angle = placed
    return CardPlan(
        field=field,
        lang=lang,
        reference=asked.reference,
        values=values,
        size=size,
        text_height=composer.text_height,
        line_count=line_count,
        card=card,
        position=position,
        elements=elements,
        angle=angle,
        contrast=composer.contrast(asked),
    )


class _CardComposer:
    """Draws the texts of one card and arranges them; all methods use the one ``rng``."""

    def __init__(
        self,
        rng: random.Random,
        side: Side,
        lang: Language,
        category: Category,
        size: tuple[int, int],
        quality: str,
        hurry: float,
    ) -> None:
        self.rng, self.side, self.lang, self.category = rng, side, lang, category
        self.size, self.quality, self.hurry = size, quality, hurry
        self.theme = self._draw_theme()
        self.body_face = rng.choice([face for face in usable_typefaces("国", 12)])
        self.text_height = 0

    def _draw_theme(self) -> Theme:
        weights = {"white": 5, "dark": 3, "red": 2, "orange": 1.5, "yellow": 1.5, "pink": 1.5, "mint": 1, "violet": 1}
        if self.quality in ("clean", "jpeg", "blur"):
            weights["none"] = 3
        if self.quality == "low_contrast":
            del weights["dark"]
        return THEMES[self.rng.choices(list(weights), list(weights.values()))[0]]

    def _script(self) -> Script:
        return self.rng.choice(("zh", "en")) if self.lang == "mixed" else self.lang

    def _height_for(self, text: str, height: int) -> int:
        """The asked height, raised to what a Chinese character needs (still inside the lowest slice)."""
        raised = max(height, LOWEST_CHINESE_HEIGHT) if has_chinese(text) else height
        self.text_height = max(self.text_height, raised)
        return raised

    def _face(self, text: str, height: int) -> Typeface:
        return self.rng.choice(usable_typefaces(text, height))

    @property
    def _content_width(self) -> int:
        return self.size[0] - 2 * MARGIN - 12

    # --- the asked text

    def asked(self, field: Field, height: int, most_lines: int) -> _Asked | None:
        """Blocks with the asked text at the given ink height, or None where it cannot fit."""
        if field == "table":
            return self._asked_table(height, most_lines)
        if field == "price":
            return self._asked_price(height)
        if field == "sku":
            return self._asked_sku(height)
        if field == "name":
            text, role = card_text.draw_name(self.rng, self.side, self.category, self.lang), "text"
        else:
            text, role = card_text.draw_promo(self.rng, self._script()), self.rng.choice(("badge", "accent", "text"))
        return self._asked_line(text, height, most_lines, cast(Role, role))

    def _asked_line(self, text: str, height: int, most_lines: int, role: Role) -> _Asked | None:
        """A name or promotion on one line, or on two where one is too wide and two are allowed."""
        height = self._height_for(text, height)
        face = self._face(text, height)
        whole = Segment(text, face, height, role, asked=True)
        if whole.width <= self._content_width and (most_lines < 2 or self.rng.random() < 0.8):
            return _Asked((Row((whole,)),), text, 1)
        halves = split_in_two(text)
        if most_lines < 2 or halves is None or role == "badge":
            return None
        rows = tuple(Row((Segment(half, face, height, role, asked=True),)) for half in halves)
        fits = all(row.width <= self._content_width for row in rows)
        # Both halves must have the script that the height is measured by, or their sizes would differ.
        alike = len({has_chinese(half) for half in halves}) == 1
        return _Asked(rows, text, 2) if fits and alike else None

    def _asked_price(self, height: int) -> _Asked | None:
        price = card_text.draw_price(self.rng, self.category, self.lang)
        height = self._height_for(price.printed, height)
        segments = [Segment(price.printed, self._face(price.printed, height), height, "accent", asked=True)]
        if self.rng.random() < 0.6:
            text = card_text.draw_short_text(self.rng, self.lang, card_text.CURRENT_PRICE_LABELS)
            small = max(11, round(height * self.rng.uniform(0.5, 0.8)))
            role: Role = self.rng.choice(("text", "badge"))
            segments.insert(0, Segment(text, self.body_face, small, role))
        if self.rng.random() < 0.6:
            label = card_text.draw_short_text(self.rng, self.lang, card_text.ORIGINAL_PRICE_LABELS)
            text = f"{label} {card_text.draw_higher_price(self.rng, price)}"
            small = max(11, round(height * self.rng.uniform(0.45, 0.7)))
            segments.append(Segment(text, self.body_face, small, "muted", struck=True))
        row = Row(tuple(segments))
        return _Asked((row,), price.reference, 1) if row.width <= self._content_width else None

    def _asked_sku(self, height: int) -> _Asked | None:
        sku = card_text.draw_sku(self.rng)
        height = self._height_for(sku, height)
        faces = [face for face in usable_typefaces(sku, height) if face.tells_digits]
        label = card_text.draw_short_text(self.rng, self.lang, card_text.SKU_LABELS)
        small = max(11, min(height, round(height * self.rng.uniform(0.7, 1))))
        role: Role = "text" if self.theme.opacity < 1 or self.rng.random() < 0.7 else "accent"
        row = Row(
            (
                Segment(f"{label}:", self.body_face, small, "muted" if self.rng.random() < 0.5 else "text"),
                Segment(sku, self.rng.choice(faces), height, role, asked=True),
            )
        )
        return _Asked((row,), sku, 1) if row.width <= self._content_width else None

    def _asked_table(self, height: int, most_lines: int) -> _Asked | None:
        rows = self.rng.randint(2, 4)
        if rows + 1 > most_lines or self.theme is THEMES["none"]:
            return None
        cells = card_text.draw_table(self.rng, self.category, self.lang, rows, self.rng.choice((2, 2, 3)))
        height = self._height_for("".join(map("".join, cells)), height)
        faces = [face for face in usable_typefaces("国", height) if not face.is_display]
        table = Table(cells, self.rng.choice(faces), height)
        if table.width > self._content_width or table.height > self.size[1] - 2 * MARGIN - 12:
            return None
        return _Asked((table,), card_text.table_as_markdown(cells), rows + 1)

    def contrast(self, asked: _Asked) -> float:
        """Share of the contrast to keep: 1, or what leaves 45 to 80 of 255 grey levels for ``low_contrast``."""
        if self.quality != "low_contrast":
            return 1.0
        block = asked.blocks[0]
        role = "text" if isinstance(block, Table) else next(s.role for s in block.segments if s.asked)
        theme = self.theme
        ink, paper = {
            "text": (theme.text, theme.top),
            "accent": (theme.accent, theme.top),
            "badge": (theme.badge_text, theme.badge),
        }[role]
        levels = self.rng.uniform(60, 80) if self.text_height < 14 else self.rng.uniform(45, 70)
        return min(1.0, levels / max(1.0, abs(_luma(ink) - _luma(paper))))

    # --- what surrounds it

    def surround(
        self, field: Field, asked: _Asked, extra_lines: int
    ) -> tuple[Card, tuple[int, int], tuple[Element, ...], float] | None:
        """The card with ``extra_lines`` further lines on it or around it, and its place; None if it does not fit."""
        around = self.rng.randint(0, min(extra_lines, 4))
        rows = self._extra_rows(field, extra_lines - around)
        elements = self._elements(around + extra_lines - around - len(rows))
        blocks = self._ordered(field, asked, rows)
        centered = field == "promo" or self.rng.random() < 0.25
        card = Card(blocks, self.theme, None, centered)
        thumbnail = min(card.content_height, self.size[0] // 4, 140)
        if field != "table" and self.theme.opacity and thumbnail >= 36 and self.hurry < 0.4 and self.rng.random() < 0.6:
            card = Card(blocks, self.theme, draw_thumbnail(self.rng, thumbnail), centered)
        angle = self.rng.choice((-1, 1)) * self.rng.uniform(3, 9) if self.quality == "rotated" else 0.0
        position = self._free_position(card, elements, angle)
        return None if position is None else (card, position, elements, angle)

    def _extra_rows(self, field: Field, count: int) -> list[tuple[str, Row]]:
        """Up to ``count`` rows of other fields and slogans, each with its kind."""
        kinds = [kind for kind in ("name", "price", "sku", "promo") if kind != field]
        if field in ("sku", "name"):
            kinds.append("lot")
        kinds += ["slogan", "button"]
        if field == "table":
            kinds = ["title", "slogan", "name"]
        weights = {"name": 5, "price": 4, "title": 4}
        kinds.sort(key=lambda kind: self.rng.random() * weights.get(kind, 1), reverse=True)
        rows = []
        for kind in kinds[:count]:
            row = self._extra_row(kind, self.rng.choice((11, 12, 12, 13, 14, 16, 18)))
            if row.width > self._content_width:
                row = self._extra_row(kind, 11)
            if row.width <= self._content_width:
                rows.append((kind, row))
        return rows

    def _extra_row(self, kind: str, height: int) -> Row:
        rng, lang = self.rng, self.lang
        role: Role = "text"
        if kind == "name":
            text = card_text.draw_name(rng, self.side, self.category, lang)
        elif kind == "price":
            price = card_text.draw_price(rng, self.category, lang)
            text, role, height = price.printed, "accent", height + 4
        elif kind in ("sku", "lot"):
            labels = card_text.SKU_LABELS if kind == "sku" else card_text.LOT_LABELS
            text, role = f"{card_text.draw_short_text(rng, lang, labels)}: {card_text.draw_sku(rng)}", "muted"
        elif kind == "promo":
            text, role = card_text.draw_promo(rng, self._script()), "badge"
        elif kind == "button":
            text, role = card_text.draw_short_text(rng, lang, card_text.BUY_BUTTONS), "button"
        else:
            texts = card_text.TABLE_TITLES if kind == "title" else card_text.SLOGANS
            text, role = card_text.draw_short_text(rng, lang, texts), "text" if kind == "title" else "muted"
        return Row((Segment(text, self.body_face, height, role),))

    def _ordered(self, field: Field, asked: _Asked, rows: list[tuple[str, Row]]) -> tuple[Block, ...]:
        """The blocks in the order in which shops print them, sometimes with the asked one first."""
        order = ["title", "promo", "name", "slogan", "table", "price", "sku", "lot", "button"]
        groups: list[tuple[int, tuple[Block, ...]]] = [(order.index(kind), (row,)) for kind, row in rows]
        first = -1 if self.rng.random() < 0.15 else order.index(field)
        groups.append((first, asked.blocks))
        return tuple(block for _, blocks in sorted(groups, key=lambda group: group[0]) for block in blocks)

    def _elements(self, count: int) -> tuple[Element, ...]:
        """``count`` text lines outside the card: the host's pill on top, viewers' comments at the bottom left."""
        elements: list[Element] = []
        if count and self.rng.random() < 0.7:
            script = self._script()
            host = self.rng.choice(card_text.HOSTS[script])
            text = f"{host}  {card_text.draw_viewers(self.rng, script)}"
            elements.append(HostPill.at((MARGIN, MARGIN), text, self.body_face, self.rng))
        bottom = self.size[1] - MARGIN
        while len(elements) < count:
            text = card_text.draw_short_text(self.rng, self.lang, card_text.COMMENTS)
            comment = Comment.above((MARGIN, bottom), text, self.body_face, self.rng)
            bottom = comment.box[1] - 3
            elements.append(comment)
        return tuple(elements)

    def _free_position(self, card: Card, elements: tuple[Element, ...], angle: float) -> tuple[int, int] | None:
        """A place for the (rotated) card inside the frame that covers no element."""
        width, height = card.size
        turn_x, turn_y = _rotation_overhang(width, height, angle)
        reach_x = self.size[0] - width - 2 * turn_x - 2 * MARGIN
        reach_y = self.size[1] - height - 2 * turn_y - 2 * MARGIN
        if reach_x < 0 or reach_y < 0:
            return None
        for _ in range(12):
            left = MARGIN + turn_x + self.rng.randint(0, reach_x)
            top = MARGIN + turn_y + self.rng.choice((reach_y, reach_y, self.rng.randint(0, reach_y)))
            box: Box = (left - turn_x, top - turn_y, left + width + turn_x, top + height + turn_y)
            if not any(overlaps(box, element.box) for element in elements):
                return left, top
        return None


def split_in_two(text: str) -> tuple[str, str] | None:
    """The text broken near its middle: at a space, or between two characters that are not both Latin or digits."""
    middle = len(text) / 2
    if " " in text:
        breaks = [index for index, character in enumerate(text) if character == " "]
        at = min(breaks, key=lambda index: abs(index - middle))
        return text[:at], text[at + 1 :]
    inside = [i for i in range(2, len(text) - 1) if not (text[i - 1].isascii() and text[i].isascii())]
    if not inside:
        return None
    at = min(inside, key=lambda index: abs(index - middle))
    return text[:at], text[at:]


def _luma(color: tuple[int, int, int]) -> float:
    return 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2]


def _rotation_overhang(width: int, height: int, angle: float) -> tuple[int, int]:
    """Pixels that a rotated rectangle reaches beyond its upright box, left and right, and above and below."""
    radians = math.radians(abs(angle))
    wide = width * math.cos(radians) + height * math.sin(radians)
    high = width * math.sin(radians) + height * math.cos(radians)
    return max(0, math.ceil((wide - width) / 2)), max(0, math.ceil((high - height) / 2))
