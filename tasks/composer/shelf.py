"""A shelf of products: what stands where, in which colour and at which price, and its picture."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PIL import Image, ImageDraw
from tliveomni_eval.tasks.composer.card_layout import THEMES, panel_image, rounded_mask
from tliveomni_eval.tasks.composer.photographs import draw_background
from tliveomni_eval.tasks.composer.product_shapes import COLORS, KINDS, pictogram
from tliveomni_eval.tasks.composer.shelf_words import Script, product_name
from tliveomni_eval.tasks.composer.typefaces import TYPEFACES, draw_text, font_for_height, text_width

SHELF_SIZE: Final = (384, 256)
_PANEL_THEMES: Final = ("white", "pink", "mint")
_TAG_HEIGHT_PX: Final = 13
_MARGIN_PX: Final = 10
# Faces whose digits stay apart at the height of a tag.
_TAG_FACES: Final = tuple(face for face in TYPEFACES if not face.is_display and face.tells_digits)


@dataclass(frozen=True)
class ShelfItem:
    """A product on the shelf.

    Attributes:
        kind: One of ``product_shapes.KINDS``.
        color: One of ``product_shapes.COLORS``.
        column: Place in its row, from 0 at the left.
        row: Board of the shelf, from 0 at the top.
        price: As printed on its tag; empty where it has no tag, ``?`` where the tag is covered.
    """

    kind: str
    color: str
    column: int
    row: int
    price: str = ""

    def name(self, script: Script) -> str:
        """Colour and kind."""
        return product_name(script, self.color, self.kind)


@dataclass(frozen=True)
class Shelf:
    """Products in a grid of ``columns`` x ``rows`` places, at most one a place."""

    columns: int
    rows: int
    items: tuple[ShelfItem, ...]

    @property
    def cell(self) -> tuple[int, int]:
        """Width and height of a place in pixels."""
        width, height = SHELF_SIZE
        return (width - 2 * _MARGIN_PX) // self.columns, (height - 2 * _MARGIN_PX) // self.rows

    def center(self, item: ShelfItem) -> tuple[float, float]:
        """Middle of the item's place in pixels."""
        width, height = self.cell
        return _MARGIN_PX + (item.column + 0.5) * width, _MARGIN_PX + (item.row + 0.5) * height


def distinct_products(rng: random.Random, count: int, kinds: Sequence[str] = KINDS) -> list[tuple[str, str]]:
    """``count`` different (kind, colour) pairs."""
    return rng.sample([(kind, color) for kind in kinds for color in COLORS], count)


def places(rng: random.Random, columns: int, rows: int, count: int) -> list[tuple[int, int]]:
    """``count`` different (column, row) places."""
    return rng.sample([(column, row) for row in range(rows) for column in range(columns)], count)


def draw_shelf(rng: random.Random, shelf: Shelf, title: str = "") -> Image.Image:
    """The shelf on a panel over a photograph, as an RGB image of ``SHELF_SIZE``.

    Args:
        rng: Decides background, panel, sizes and small shifts; nothing that a question asks.
        shelf: What stands where.
        title: One line above the shelf; it takes the place of the upper margin.
    """
    image = draw_background(rng, SHELF_SIZE)
    theme = THEMES[rng.choice(_PANEL_THEMES)]
    inner = (SHELF_SIZE[0] - 12, SHELF_SIZE[1] - 12)
    panel = Image.blend(image.crop((6, 6, 6 + inner[0], 6 + inner[1])), panel_image(theme, inner), 0.95)
    image.paste(panel, (6, 6), rounded_mask(*inner, 8))
    pen = ImageDraw.Draw(image)
    width, height = shelf.cell
    face = rng.choice(_TAG_FACES)
    has_tags = any(item.price for item in shelf.items)
    tag_space = _TAG_HEIGHT_PX + 10 if has_tags else 4
    for row in range(shelf.rows):
        board = _MARGIN_PX + (row + 1) * height - 2
        pen.line((_MARGIN_PX, board, SHELF_SIZE[0] - _MARGIN_PX, board), fill=(176, 150, 122), width=3)
    for item in shelf.items:
        largest = min(width - 8, height - tag_space - (20 if title else 8))
        side = rng.randint(max(24, round(largest * 0.8)), max(25, largest))
        middle = _MARGIN_PX + item.column * width + width // 2
        bottom = _MARGIN_PX + (item.row + 1) * height - 3
        slack = max(0, (width - side) // 2 - 4)
        picture = pictogram(item.kind, item.color, side)
        left = middle - side // 2 + rng.randint(-slack, slack)
        image.paste(picture, (left, bottom - (tag_space if has_tags else 0) - side), picture)
        if item.price:
            _draw_tag(pen, item.price, (middle, bottom), face.file)
    if title:
        _draw_title(pen, title)
    return image


def _draw_tag(pen: ImageDraw.ImageDraw, price: str, bottom_middle: tuple[int, int], file: str) -> None:
    face = next(face for face in TYPEFACES if face.file == file)
    covered = price == "?"
    shown = "¥000" if covered else price
    font = font_for_height(face, shown, _TAG_HEIGHT_PX)
    width = round(text_width(font, shown))
    x, bottom = bottom_middle
    box = (x - width // 2 - 4, bottom - _TAG_HEIGHT_PX - 8, x + width // 2 + 5, bottom - 1)
    pen.rounded_rectangle(box, 3, fill=(200, 196, 190) if covered else (255, 250, 214), outline=(140, 120, 90))
    if covered:
        for offset in range(-6, width + 10, 7):
            pen.line((box[0] + offset, box[3] - 1, box[0] + offset + 12, box[1] + 1), fill=(150, 146, 140), width=3)
        return
    draw_text(pen, (x - width // 2, bottom - 5), shown, font, (176, 20, 30))


def _draw_title(pen: ImageDraw.ImageDraw, title: str) -> None:
    face = TYPEFACES[1]
    font = font_for_height(face, title, 13)
    width = round(text_width(font, title))
    left = (SHELF_SIZE[0] - width) // 2
    pen.rounded_rectangle((left - 8, 2, left + width + 8, 21), 6, fill=(206, 24, 48))
    draw_text(pen, (left, 17), title, font, (255, 255, 255))
