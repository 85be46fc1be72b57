"""Layout of a card: rows of text segments, measured, then drawn on a themed panel over the background."""

import random
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Literal

from PIL import Image, ImageChops, ImageColor, ImageDraw
from tliveomni_eval.tasks.composer.typefaces import SizedFont, Typeface, draw_text, font_for_height, text_width

Color = tuple[int, int, int]
Role = Literal["text", "accent", "muted", "badge", "button"]


@dataclass(frozen=True)
class Theme:
    """Colours of a panel: two ends of its gradient, its opacity (0 means no panel), and the inks on it."""

    top: Color
    bottom: Color
    opacity: float
    text: Color
    accent: Color
    muted: Color
    badge: Color
    badge_text: Color

    @property
    def paper(self) -> Color:
        """The colour half way down the gradient."""
        return faded(self.bottom, self.top, 0.5)


def _theme(top: str, bottom: str, opacity: float, *inks: str) -> Theme:
    """A theme from colours in hexadecimal notation, without ``#``."""
    colors = [ImageColor.getrgb(f"#{code}")[:3] for code in (top, bottom, *inks)]
    return Theme(colors[0], colors[1], opacity, *colors[2:])


THEMES: Final = {
    "white": _theme("ffffff", "faf8f6", 0.96, "26262a", "e21e34", "808084", "e21e34", "ffffff"),
    "dark": _theme("121218", "1e1a22", 0.72, "fafafa", "ffd65c", "bebec4", "ff465a", "ffffff"),
    "red": _theme("e8202e", "be0c28", 1.0, "ffffff", "ffe878", "ffcdc8", "ffe26e", "aa0a14"),
    "orange": _theme("ff7a18", "f04614", 1.0, "ffffff", "fff6aa", "ffe1c8", "ffffff", "e2460a"),
    "yellow": _theme("ffe248", "ffcc1e", 1.0, "281e0a", "ce0e1e", "78601e", "ce0e1e", "ffffff"),
    "pink": _theme("ffe8ee", "ffcedc", 0.97, "46182c", "d81454", "966074", "d81454", "ffffff"),
    "mint": _theme("e4f8ee", "caeee0", 0.97, "103c30", "d2321e", "5a8274", "0e8260", "ffffff"),
    "violet": _theme("5c36c4", "9632be", 1.0, "ffffff", "ffe260", "d8c8f6", "ffe260", "461478"),
    "none": _theme("000000", "000000", 0.0, "ffffff", "ffe646", "f0f0f0", "e21e34", "ffffff"),
}


@dataclass(frozen=True)
class Segment:
    """A run of text in one font and role; ``height_px`` is its height in pixels as ``font_for_height`` defines it."""

    text: str
    face: Typeface
    height_px: int
    role: Role = "text"
    struck: bool = False
    asked: bool = False

    @cached_property
    def font(self) -> SizedFont:
        """The segment's font at its size."""
        return font_for_height(self.face, self.text, self.height_px)

    @cached_property
    def width(self) -> int:
        """Advance width in pixels, with the padding of a badge or button."""
        padding = round(self.height_px * 0.9) if self.role in ("badge", "button") else 0
        return int(text_width(self.font, self.text)) + 1 + padding


@dataclass(frozen=True)
class Row:
    """Segments on one baseline."""

    segments: tuple[Segment, ...]

    @property
    def gap(self) -> int:
        """Pixels between two segments."""
        return max(4, min(segment.height_px for segment in self.segments) // 2)

    @property
    def width(self) -> int:
        """Width in pixels."""
        return sum(segment.width for segment in self.segments) + self.gap * (len(self.segments) - 1)

    @property
    def ink_height(self) -> int:
        """Height of the tallest segment in pixels."""
        return max(segment.height_px for segment in self.segments)

    @property
    def height(self) -> int:
        """Line height in pixels."""
        return round(self.ink_height * 1.55) + (3 if any(s.role in ("badge", "button") for s in self.segments) else 0)


@dataclass(frozen=True)
class Table:
    """Cells in one font; the first row is the header."""

    cells: list[list[str]]
    face: Typeface
    height_px: int

    def segment(self, text: str) -> Segment:
        """A cell as a segment."""
        return Segment(text, self.face, self.height_px, asked=True)

    @cached_property
    def column_widths(self) -> list[int]:
        """Widths in pixels, padding included."""
        padding = max(8, round(self.height_px * 0.8))
        return [max(self.segment(text).width for text in column) + padding for column in zip(*self.cells, strict=True)]

    @property
    def width(self) -> int:
        """Width in pixels."""
        return sum(self.column_widths) + 1

    @property
    def row_height(self) -> int:
        """Height of each row in pixels."""
        return round(self.height_px * 1.6) + 2

    @property
    def height(self) -> int:
        """Height in pixels."""
        return self.row_height * len(self.cells) + 1


Block = Row | Table


@dataclass(frozen=True)
class Card:
    """A panel with its blocks from top to bottom and an optional square picture on the left."""

    blocks: tuple[Block, ...]
    theme: Theme
    thumbnail: Image.Image | None = None
    centered: bool = False

    @property
    def padding(self) -> int:
        """Pixels between the panel's edge and its content."""
        return 6 if self.theme.opacity else 2

    @property
    def content_height(self) -> int:
        """Height of all blocks in pixels."""
        return sum(block.height for block in self.blocks)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the panel in pixels."""
        width = max(block.width for block in self.blocks) + 2 * self.padding
        height = self.content_height
        if self.thumbnail is not None:
            width += self.thumbnail.width + self.padding
            height = max(height, self.thumbnail.height)
        return width, height + 2 * self.padding


@lru_cache(maxsize=64)
def _corner(radius: int) -> Image.Image:
    """The top left quarter of a disc as a smooth-edged mask, drawn at four times the size."""
    quarter = Image.new("L", (4 * radius, 4 * radius), 0)
    ImageDraw.Draw(quarter).ellipse((0, 0, 8 * radius - 1, 8 * radius - 1), fill=255)
    return quarter.reduce(4)


def rounded_mask(width: int, height: int, radius: int) -> Image.Image:
    """A rounded rectangle as a mask (L) of the given size in pixels."""
    mask = Image.new("L", (width, height), 255)
    radius = min(radius, width // 2, height // 2)
    if radius:
        corner = _corner(radius)
        flipped = corner.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
        mask.paste(corner, (0, 0))
        mask.paste(corner.transpose(Image.Transpose.FLIP_LEFT_RIGHT), (width - radius, 0))
        mask.paste(flipped, (0, height - radius))
        mask.paste(flipped.transpose(Image.Transpose.FLIP_LEFT_RIGHT), (width - radius, height - radius))
    return mask


@lru_cache(maxsize=64)
def _gradient_column(top: Color, bottom: Color) -> Image.Image:
    ramp = Image.linear_gradient("L").crop((0, 0, 1, 256))
    return Image.composite(Image.new("RGB", ramp.size, bottom), Image.new("RGB", ramp.size, top), ramp)


def panel_image(theme: Theme, size: tuple[int, int]) -> Image.Image:
    """The panel's vertical gradient as an RGB image."""
    return _gradient_column(theme.top, theme.bottom).resize(size, Image.Resampling.NEAREST)


def faded(ink: Color, paper: Color, contrast: float) -> Color:
    """The ink moved towards the paper until only ``contrast`` (0 to 1) of their difference is left."""
    red, green, blue = (round(p + (i - p) * contrast) for i, p in zip(ink, paper, strict=True))
    return red, green, blue


def draw_card(
    frame: Image.Image,
    card: Card,
    position: tuple[int, int],
    rng: random.Random,
    angle: float = 0.0,
    contrast: float = 1.0,
) -> None:
    """Draw the card into the frame (RGB, changed in place).

    Args:
        frame: the picture behind the card.
        card: what to draw.
        position: top left corner in pixels; the centre is kept when the card is rotated.
        rng: decides corner radius and outline colours.
        angle: rotation in degrees, counter-clockwise; the card then needs a panel.
        contrast: share of the asked text's contrast that is kept, 1 for all.
    """
    width, height = card.size
    left, top = position
    box = (left, top, left + width, top + height)
    behind = frame.crop(box)
    theme = card.theme
    sheet = Image.blend(behind, panel_image(theme, card.size), theme.opacity) if theme.opacity else behind.copy()
    _draw_content(sheet, card, rng, contrast)
    mask = rounded_mask(width, height, rng.choice((0, 4, 8, 10)) if theme.opacity else 0)
    if angle:
        sheet = sheet.rotate(angle, Image.Resampling.BICUBIC, expand=True)
        mask = mask.rotate(angle, Image.Resampling.BICUBIC, expand=True)
        left += (width - sheet.width) // 2
        top += (height - sheet.height) // 2
        # The crop behind a translucent panel turns with it, so nothing of its edge may show through.
        mask = ImageChops.multiply(mask, mask)
    frame.paste(sheet, (left, top), mask)


def _draw_content(sheet: Image.Image, card: Card, rng: random.Random, contrast: float) -> None:
    draw = ImageDraw.Draw(sheet)
    left, top = card.padding, (sheet.height - card.content_height) // 2
    if card.thumbnail is not None:
        picture = card.thumbnail
        sheet.paste(picture, (left, (sheet.height - picture.height) // 2), rounded_mask(*picture.size, 5))
        left += picture.width + card.padding
    available = sheet.width - left - card.padding
    for block in card.blocks:
        indent = (available - block.width) // 2 if card.centered else 0
        if isinstance(block, Table):
            _draw_table(draw, block, card.theme, (left + indent, top), contrast)
        else:
            _draw_row(draw, block, card.theme, (left + indent, top), contrast)
        top += block.height


def _draw_row(draw: ImageDraw.ImageDraw, row: Row, theme: Theme, corner: tuple[int, int], contrast: float) -> None:
    left, top = corner
    baseline = top + (row.height + row.ink_height) // 2 - max(0, round(row.ink_height * 0.06))
    for segment in row.segments:
        inks = {"text": theme.text, "accent": theme.accent, "muted": theme.muted}
        ink = inks.get(segment.role, theme.badge_text)
        offset = 0
        paper = theme.paper
        if segment.role in ("badge", "button"):
            offset = round(segment.height_px * 0.45)
            radius = segment.height_px // 2 if segment.role == "button" else 3
            margin = round(segment.height_px * 0.3) + 1
            box = (left, baseline - segment.height_px - margin, left + segment.width - 1, baseline + margin)
            paper = theme.badge
            draw.rounded_rectangle(box, radius, fill=paper)
        if contrast < 1 and segment.asked:
            ink = faded(ink, paper, contrast)
        stroke = max(1, segment.height_px // 9) if not theme.opacity and segment.role not in ("badge", "button") else 0
        outline = (20, 16, 20) if stroke and contrast == 1 else None
        if stroke and contrast < 1:
            outline = faded((20, 16, 20), ink, max(0.45, contrast))
        draw_text(draw, (left + offset, baseline), segment.text, segment.font, ink, outline, stroke)
        if segment.struck:
            middle = baseline - round(segment.height_px * 0.45)
            draw.line((left - 1, middle, left + segment.width, middle), fill=ink, width=max(1, segment.height_px // 10))
        left += segment.width + row.gap


def _draw_table(
    draw: ImageDraw.ImageDraw, table: Table, theme: Theme, corner: tuple[int, int], contrast: float
) -> None:
    left, top = corner
    widths, height = table.column_widths, table.row_height
    line = faded(theme.muted, theme.top, 0.55)
    draw.rectangle((left, top, left + table.width - 1, top + height), fill=theme.badge)
    for index, cells in enumerate(table.cells):
        ink, paper = (theme.badge_text, theme.badge) if index == 0 else (theme.text, theme.paper)
        if contrast < 1:
            ink = faded(ink, paper, contrast)
        baseline = top + (height + table.height_px) // 2
        x = left
        for text, width in zip(cells, widths, strict=True):
            segment = table.segment(text)
            draw_text(draw, (x + (width - segment.width) // 2, baseline), text, segment.font, ink)
            draw.line((x, top, x, top + height), fill=line)
            x += width
        draw.line((x, top, x, top + height), fill=line)
        draw.line((left, top + height, x, top + height), fill=line)
        top += height
