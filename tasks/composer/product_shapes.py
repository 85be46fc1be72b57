"""Pictograms of products: ten shapes that are told apart at 28 pixels, each in any of eight colours."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from PIL import Image, ImageDraw

Color = tuple[int, int, int]
Pen = ImageDraw.ImageDraw
Points = list[tuple[float, float]]

COLORS: Final[dict[str, Color]] = {
    "red": (214, 32, 44),
    "orange": (245, 138, 22),
    "yellow": (250, 214, 40),
    "green": (40, 154, 70),
    "blue": (36, 92, 208),
    "purple": (132, 58, 168),
    "black": (38, 38, 42),
    "white": (250, 250, 250),
}
_OUTLINE: Final = (60, 60, 66)
# Shapes are drawn on a square of this many units, at this many pixels a unit, and then reduced.
_UNITS: Final = 100
_SCALE: Final = 4


class _Sheet:
    """Draws filled, outlined shapes in units of a hundredth of the pictogram's side."""

    def __init__(self, pen: Pen, fill: Color) -> None:
        self._pen = pen
        self.fill = fill
        self.shade = tuple(round(channel * 0.72) for channel in fill) if sum(fill) > 150 else (96, 96, 102)

    def polygon(self, points: Points, fill: Color | None = None) -> None:
        self._pen.polygon([(x * _SCALE, y * _SCALE) for x, y in points], fill or self.fill, _OUTLINE, 2 * _SCALE)

    def box(self, box: tuple[float, float, float, float], radius: float = 0, fill: Color | None = None) -> None:
        self._pen.rounded_rectangle(
            [side * _SCALE for side in box], radius * _SCALE, fill or self.fill, _OUTLINE, 2 * _SCALE
        )

    def oval(self, box: tuple[float, float, float, float], fill: Color | None = None) -> None:
        self._pen.ellipse([side * _SCALE for side in box], fill or self.fill, _OUTLINE, 2 * _SCALE)

    def arc(self, box: tuple[float, float, float, float], start: float, end: float, width: float) -> None:
        scaled = [side * _SCALE for side in box]
        self._pen.arc(scaled, start, end, _OUTLINE, round((width + 3) * _SCALE))
        inner = [scaled[0] + 6, scaled[1] + 6, scaled[2] - 6, scaled[3] - 6]
        self._pen.arc(inner, start, end, self.fill, round(width * _SCALE))

    def lid(self) -> Color:
        red, green, blue = self.shade
        return red, green, blue


def _bottle(sheet: _Sheet) -> None:
    sheet.box((42, 4, 58, 20), 2, sheet.lid())
    sheet.polygon([(43, 18), (57, 18), (57, 30), (70, 42), (70, 96), (30, 96), (30, 42), (43, 30)])
    sheet.box((30, 56, 70, 80), 0, (240, 238, 228))


def _mug(sheet: _Sheet) -> None:
    sheet.arc((56, 34, 94, 76), -100, 100, 8)
    sheet.box((14, 20, 72, 90), 8)
    sheet.oval((14, 12, 72, 30), sheet.lid())


def _t_shirt(sheet: _Sheet) -> None:
    sheet.polygon(
        [(34, 12), (42, 20), (58, 20), (66, 12), (97, 32), (86, 52), (74, 44), (74, 92), (26, 92), (26, 44), (14, 52),
         (3, 32)]
    )  # fmt: skip


def _handbag(sheet: _Sheet) -> None:
    sheet.arc((28, 6, 72, 66), 180, 360, 6)
    sheet.polygon([(16, 38), (84, 38), (94, 92), (6, 92)])
    sheet.box((43, 46, 57, 60), 3, (232, 196, 84))


def _sneaker(sheet: _Sheet) -> None:
    sheet.polygon([(6, 30), (22, 38), (38, 30), (60, 54), (88, 60), (96, 72), (96, 78), (4, 78), (4, 44)])
    sheet.box((2, 76, 98, 88), 5, (236, 236, 236))
    for x in (40, 48, 56):
        sheet.box((x, 40 + (x - 40) * 0.8, x + 12, 45 + (x - 40) * 0.8), 2, (245, 245, 245))


def _cap(sheet: _Sheet) -> None:
    sheet.polygon([(12, 70), (14, 50), (24, 32), (42, 24), (58, 26), (72, 40), (76, 62), (76, 70)])
    sheet.oval((40, 62, 98, 80), sheet.lid())
    sheet.oval((40, 19, 50, 27), sheet.lid())


def _phone(sheet: _Sheet) -> None:
    sheet.box((28, 4, 72, 96), 8)
    sheet.box((33, 14, 67, 82), 1, (186, 216, 236))
    sheet.oval((46, 85, 54, 93), (220, 220, 220))


def _lipstick(sheet: _Sheet) -> None:
    sheet.polygon([(40, 46), (40, 16), (60, 4), (60, 46)])
    sheet.box((37, 42, 63, 58), 0, (226, 188, 92))
    sheet.box((32, 56, 68, 96), 2, (70, 70, 78))


def _umbrella(sheet: _Sheet) -> None:
    sheet.box((47, 40, 53, 86), 0, (120, 96, 70))
    sheet.box((47, 84, 66, 92), 3, (120, 96, 70))
    sheet.polygon(
        [(4, 52), (10, 30), (28, 12), (50, 6), (72, 12), (90, 30), (96, 52), (80, 46), (66, 54), (50, 46), (34, 54),
         (20, 46)]
    )  # fmt: skip


def _lamp(sheet: _Sheet) -> None:
    sheet.box((46, 44, 54, 88), 0, (150, 150, 156))
    sheet.box((26, 86, 74, 96), 3, (110, 110, 116))
    sheet.polygon([(34, 8), (66, 8), (88, 52), (12, 52)])


_SHAPES: Final[dict[str, Callable[[_Sheet], None]]] = {
    "bottle": _bottle,
    "mug": _mug,
    "T-shirt": _t_shirt,
    "handbag": _handbag,
    "sneaker": _sneaker,
    "cap": _cap,
    "phone": _phone,
    "lipstick": _lipstick,
    "umbrella": _umbrella,
    "lamp": _lamp,
}
KINDS: Final[tuple[str, ...]] = tuple(_SHAPES)


@lru_cache(maxsize=512)
def pictogram(kind: str, color: str, side_px: int) -> Image.Image:
    """A product's pictogram on a transparent square.

    Args:
        kind: one of ``KINDS``.
        color: one of ``COLORS``.
        side_px: width and height in pixels; below 28 shapes grow alike.

    Raises:
        KeyError: kind or colour is unknown.
    """
    image = Image.new("RGBA", (_UNITS * _SCALE, _UNITS * _SCALE), (0, 0, 0, 0))
    _SHAPES[kind](_Sheet(ImageDraw.Draw(image), COLORS[color]))
    return image.resize((side_px, side_px), Image.Resampling.LANCZOS)
