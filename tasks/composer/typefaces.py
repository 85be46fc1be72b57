"""The composer's fonts, sized by the height of their glyphs in pixels."""

from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw, ImageFont

FONT_FOLDER: Final = Path(__file__).with_name("fonts")


@dataclass(frozen=True)
class Typeface:
    """A font file and what it is fit for.

    Attributes:
        file: name of the file in the fonts folder.
        covers_chinese: it has the whole alphabet; otherwise only Latin letters, digits and ``¥``.
        is_display: too fanciful for small text.
        tells_digits: its 0, 5 and 8 cannot be taken for D, S and B, so that it may print a SKU.
    """

    file: str
    covers_chinese: bool
    is_display: bool
    tells_digits: bool = True


TYPEFACES: Final = (
    Typeface("hei-regular.otf", True, False),
    Typeface("hei-bold.otf", True, False),
    Typeface("song-bold.otf", True, False),
    Typeface("kai-bold.ttf", True, False),
    Typeface("oblique.ttf", True, True),
    Typeface("playful.ttf", True, True, tells_digits=False),
    Typeface("poster.ttf", True, True, tells_digits=False),
    Typeface("latin-sans-regular.ttf", False, False),
    Typeface("latin-sans-bold.ttf", False, False),
    Typeface("latin-condensed-bold.ttf", False, True),
    Typeface("latin-black.ttf", False, True),
)


def has_chinese(text: str) -> bool:
    """Whether the text has a character that a Latin typeface lacks: a Chinese character or a full-width sign."""
    return any(character > "⺀" for character in text)


def usable_typefaces(text: str, height_px: int) -> tuple[Typeface, ...]:
    """Typefaces that cover the text; display faces only where the text is tall enough to stay legible."""
    chinese = has_chinese(text)
    return tuple(
        face for face in TYPEFACES if (face.covers_chinese or not chinese) and (not face.is_display or height_px >= 17)
    )


@cache
def _capital_height_per_em(file: str) -> float:
    """Ink height of a capital letter as a share of the font size."""
    font = ImageFont.truetype(str(FONT_FOLDER / file), 200, layout_engine=ImageFont.Layout.BASIC)
    _, top, _, bottom = font.getbbox("H")
    return (bottom - top) / 200


@dataclass(frozen=True)
class SizedFont:
    """A font file at a size in pixels per em."""

    file: str
    size: int


@dataclass(frozen=True)
class Glyph:
    """A character's coverage mask (L) and the mask's corner relative to the pen on the baseline, in pixels."""

    mask: Image.Image
    left: int
    top: int


def font_for_height(face: Typeface, text: str, height_px: int) -> SizedFont:
    """The font at the size where the tallest glyphs of the text are ``height_px`` pixels tall.

    That is the box of a Chinese character (the em, of which its strokes fill 85 to 95 %) where the text has one, else
    the ink of a capital letter or digit.
    """
    em_share = 1.0 if has_chinese(text) else _capital_height_per_em(face.file)
    return SizedFont(face.file, max(6, round(height_px / em_share)))


@lru_cache(maxsize=512)
def _freetype(font: SizedFont) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONT_FOLDER / font.file), font.size, layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=40_000)
def glyph(font: SizedFont, character: str, stroke_px: int = 0) -> Glyph:
    """A character's glyph, its outline widened by ``stroke_px``; rasterised once a process."""
    freetype = _freetype(font)
    left, top, right, bottom = map(int, freetype.getbbox(character, anchor="ls", stroke_width=stroke_px))
    mask = Image.new("L", (max(1, right - left), max(1, bottom - top)), 0)
    pen = ImageDraw.Draw(mask)
    pen.text((-left, -top), character, fill=255, font=freetype, anchor="ls", stroke_width=stroke_px, stroke_fill=255)
    return Glyph(mask, left, top)


@lru_cache(maxsize=40_000)
def advance(font: SizedFont, character: str) -> float:
    """How far the pen moves after the character, in pixels."""
    return _freetype(font).getlength(character)


def text_width(font: SizedFont, text: str) -> float:
    """Advance width of the text in pixels; kerning is left out."""
    return sum(advance(font, character) for character in text)


def draw_text(
    draw: ImageDraw.ImageDraw,
    pen: tuple[int, int],
    text: str,
    font: SizedFont,
    ink: tuple[int, int, int],
    outline: tuple[int, int, int] | None = None,
    stroke_px: int = 0,
) -> None:
    """Draw the text, its baseline starting at ``pen``; an outline of ``stroke_px`` pixels lies under the ink."""
    for layer_ink, width in ((outline, stroke_px), (ink, 0)):
        if layer_ink is None:
            continue
        x = float(pen[0])
        for character in text:
            drawn = glyph(font, character, width)
            draw.bitmap((round(x) + drawn.left, pen[1] + drawn.top), drawn.mask, fill=layer_ink)
            x += advance(font, character)
