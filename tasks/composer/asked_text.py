"""The asked text of a card: what it says, how tall it is drawn, and the answer that is right."""

import random
from dataclasses import dataclass

from tliveomni_eval.tasks.composer import card_text
from tliveomni_eval.tasks.composer.card_layout import Block, Role, Row, Segment, Table, Theme
from tliveomni_eval.tasks.composer.card_text import Language, Script
from tliveomni_eval.tasks.composer.catalogue import Category, Side
from tliveomni_eval.tasks.composer.prompts import Field
from tliveomni_eval.tasks.composer.sample_space import LOWEST_CHINESE_HEIGHT
from tliveomni_eval.tasks.composer.typefaces import Typeface, has_chinese, usable_typefaces


@dataclass(frozen=True)
class AskedText:
    """The asked field's blocks, its answer, how many text lines the blocks have, and its height in pixels."""

    blocks: tuple[Block, ...]
    reference: str
    line_count: int
    height: int


@dataclass(frozen=True)
class CardStyle:
    """What all texts of one card share; ``width`` and ``height`` are what its content may fill, in pixels."""

    side: Side
    lang: Language
    category: Category
    theme: Theme
    body_face: Typeface
    width: int
    height: int

    def draw_script(self, rng: random.Random) -> Script:
        """The script of a text: the card's language, or either one on a mixed card."""
        return rng.choice(("zh", "en")) if self.lang == "mixed" else self.lang


def draw_asked_text(
    rng: random.Random, style: CardStyle, field: Field, height: int, most_lines: int
) -> AskedText | None:
    """Blocks with the asked text, or None where the drawn text does not fit.

    Args:
        rng: source of all decisions.
        style: of the card.
        field: what is asked.
        height: text height in pixels (see ``font_for_height``); raised to what a Chinese character needs.
        most_lines: how many text lines the frame may have.
    """
    if field == "table":
        return _table(rng, style, height, most_lines)
    if field == "price":
        return _price(rng, style, height)
    if field == "sku":
        return _sku(rng, style, height)
    if field == "name":
        name = card_text.draw_name(rng, style.side, style.category, style.lang)
        return _line(rng, style, name, height, most_lines, "text")
    role: Role = rng.choice(("badge", "accent", "text"))
    return _line(rng, style, card_text.draw_promo(rng, style.draw_script(rng)), height, most_lines, role)


def _line(
    rng: random.Random, style: CardStyle, text: str, height: int, most_lines: int, role: Role
) -> AskedText | None:
    """A name or promotion on one line, or on two where one is too wide and two are allowed."""
    height = _legible_height(text, height)
    face = rng.choice(usable_typefaces(text, height))
    whole = Segment(text, face, height, role, asked=True)
    if whole.width <= style.width and (most_lines < 2 or rng.random() < 0.8):
        return AskedText((Row((whole,)),), text, 1, height)
    halves = split_in_two(text)
    if most_lines < 2 or halves is None or role == "badge":
        return None
    rows = tuple(Row((Segment(half, face, height, role, asked=True),)) for half in halves)
    fits = all(row.width <= style.width for row in rows)
    # Both halves must have the script that the height is measured by, or their sizes would differ.
    alike = len({has_chinese(half) for half in halves}) == 1
    return AskedText(rows, text, 2, height) if fits and alike else None


def _price(rng: random.Random, style: CardStyle, height: int) -> AskedText | None:
    price = card_text.draw_price(rng, style.category, style.lang)
    height = _legible_height(price.printed, height)
    face = rng.choice(usable_typefaces(price.printed, height))
    segments = [Segment(price.printed, face, height, "accent", asked=True)]
    if rng.random() < 0.6:
        text = card_text.draw_short_text(rng, style.lang, card_text.CURRENT_PRICE_LABELS)
        role: Role = rng.choice(("text", "badge"))
        segments.insert(0, Segment(text, style.body_face, max(11, round(height * rng.uniform(0.5, 0.8))), role))
    if rng.random() < 0.6:
        label = card_text.draw_short_text(rng, style.lang, card_text.ORIGINAL_PRICE_LABELS)
        text = f"{label} {card_text.draw_higher_price(rng, price)}"
        small = max(11, round(height * rng.uniform(0.45, 0.7)))
        segments.append(Segment(text, style.body_face, small, "muted", struck=True))
    row = Row(tuple(segments))
    return AskedText((row,), price.reference, 1, height) if row.width <= style.width else None


def _sku(rng: random.Random, style: CardStyle, height: int) -> AskedText | None:
    sku = card_text.draw_sku(rng)
    faces = [face for face in usable_typefaces(sku, height) if face.tells_digits]
    label = card_text.draw_short_text(rng, style.lang, card_text.SKU_LABELS)
    small = max(11, min(height, round(height * rng.uniform(0.7, 1))))
    role: Role = "text" if style.theme.opacity < 1 or rng.random() < 0.7 else "accent"
    row = Row(
        (
            Segment(f"{label}:", style.body_face, small, rng.choice(("muted", "text"))),
            Segment(sku, rng.choice(faces), height, role, asked=True),
        )
    )
    return AskedText((row,), sku, 1, height) if row.width <= style.width else None


def _table(rng: random.Random, style: CardStyle, height: int, most_lines: int) -> AskedText | None:
    rows = rng.randint(2, 4)
    if rows + 1 > most_lines or not style.theme.opacity:
        return None
    cells = card_text.draw_table(rng, style.category, style.lang, rows, rng.choice((2, 2, 3)))
    height = _legible_height("".join(map("".join, cells)), height)
    faces = [face for face in usable_typefaces("国", height) if not face.is_display]
    table = Table(cells, rng.choice(faces), height)
    if table.width > style.width or table.height > style.height:
        return None
    return AskedText((table,), card_text.table_as_markdown(cells), rows + 1, height)


def _legible_height(text: str, height: int) -> int:
    return max(height, LOWEST_CHINESE_HEIGHT) if has_chinese(text) else height


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
