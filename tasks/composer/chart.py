"""Bar, line and pie charts as a host shows them: a titled panel with values on an axis or printed at the marks."""

import math
import random
from dataclasses import dataclass
from typing import Final, Literal

from PIL import Image, ImageDraw
from tliveomni_eval.tasks.composer.card_layout import rounded_mask
from tliveomni_eval.tasks.composer.photographs import draw_background
from tliveomni_eval.tasks.composer.typefaces import TYPEFACES, SizedFont, draw_text, font_for_height, text_width

ChartKind = Literal["bar", "line", "pie"]
CHART_SIZE: Final = (384, 256)
_INK: Final = (44, 44, 50)
_GRID: Final = (212, 212, 216)
_PALETTE: Final = ((214, 62, 62), (240, 152, 48), (66, 156, 92), (62, 112, 204), (142, 82, 172), (96, 96, 104))
_FACE: Final = TYPEFACES[0]
_LABEL_PX: Final = 12


@dataclass(frozen=True)
class Chart:
    """What a chart shows.

    Attributes:
        kind: Bar, line or pie.
        title: One line above it.
        names: Category of each value.
        values: Above 0; a pie's are percentages that sum to 100.
        axis_top: Upper end of the value axis; of no use to a pie.
        axis_step: Distance of two labelled grid lines.
        prints_values: Whether each value stands at its mark; a pie always prints them.
    """

    kind: ChartKind
    title: str
    names: tuple[str, ...]
    values: tuple[int, ...]
    axis_top: int
    axis_step: int
    prints_values: bool


def draw_chart(rng: random.Random, chart: Chart) -> Image.Image:
    """The chart on a white panel over a photograph, as an RGB image of ``CHART_SIZE``."""
    image = draw_background(rng, CHART_SIZE)
    width, height = CHART_SIZE
    inner = (width - 12, height - 12)
    image.paste(Image.new("RGB", inner, (252, 252, 250)), (6, 6), rounded_mask(*inner, 8))
    pen = ImageDraw.Draw(image)
    _centered(pen, chart.title, (width / 2, 26), 13)
    if chart.kind == "pie":
        _draw_pie(image, chart, rng)
    else:
        _draw_axes(pen, chart)
        (_draw_bars if chart.kind == "bar" else _draw_line)(pen, chart, rng.randrange(len(_PALETTE) - 1))
    return image


def _font(text: str, height_px: int) -> SizedFont:
    return font_for_height(_FACE, text, height_px)


def _centered(pen: ImageDraw.ImageDraw, text: str, at: tuple[float, float], height_px: int = _LABEL_PX) -> None:
    font = _font(text, height_px)
    draw_text(pen, (round(at[0] - text_width(font, text) / 2), round(at[1])), text, font, _INK)


_LEFT, _TOP, _RIGHT, _BOTTOM = 48, 42, 368, 218


def _x(chart: Chart, index: int) -> float:
    return _LEFT + (index + 0.5) * (_RIGHT - _LEFT) / len(chart.names)


def _y(chart: Chart, value: float) -> float:
    return _BOTTOM - value / chart.axis_top * (_BOTTOM - _TOP)


def _draw_axes(pen: ImageDraw.ImageDraw, chart: Chart) -> None:
    for tick in range(0, chart.axis_top + 1, chart.axis_step):
        y = round(_y(chart, tick))
        pen.line((_LEFT, y, _RIGHT, y), fill=_INK if tick == 0 else _GRID)
        font = _font(str(tick), 10)
        draw_text(pen, (round(_LEFT - 6 - text_width(font, str(tick))), y + 4), str(tick), font, _INK)
    for index, name in enumerate(chart.names):
        _centered(pen, name, (_x(chart, index), _BOTTOM + 18))


def _draw_bars(pen: ImageDraw.ImageDraw, chart: Chart, color: int) -> None:
    half = (_RIGHT - _LEFT) / len(chart.names) * 0.3
    for index, value in enumerate(chart.values):
        x, y = _x(chart, index), _y(chart, value)
        pen.rectangle((round(x - half), round(y), round(x + half), _BOTTOM), fill=_PALETTE[color])
        if chart.prints_values:
            _centered(pen, str(value), (x, y - 4))


def _draw_line(pen: ImageDraw.ImageDraw, chart: Chart, color: int) -> None:
    points = [(_x(chart, index), _y(chart, value)) for index, value in enumerate(chart.values)]
    pen.line(points, fill=_PALETTE[color], width=3, joint="curve")
    for (x, y), value in zip(points, chart.values, strict=True):
        pen.ellipse((x - 4, y - 4, x + 4, y + 4), fill=_PALETTE[color], outline=(255, 255, 255))
        if chart.prints_values:
            _centered(pen, str(value), (x, y - 9))


def _draw_pie(image: Image.Image, chart: Chart, rng: random.Random) -> None:
    scale, radius, center = 4, 88, (118, 136)
    side = 2 * radius
    disc = Image.new("RGB", (side * scale, side * scale), (252, 252, 250))
    start = angle = rng.uniform(-90, 90)
    pen = ImageDraw.Draw(disc)
    for index, value in enumerate(chart.values):
        end = angle + 3.6 * value
        box = (0, 0, side * scale - 1, side * scale - 1)
        pen.pieslice(box, angle, end, fill=_PALETTE[index], outline=(255, 255, 255), width=2 * scale)
        angle = end
    image.paste(disc.reduce(scale), (center[0] - radius, center[1] - radius))
    pen = ImageDraw.Draw(image)
    angle = start
    for index, (name, value) in enumerate(zip(chart.names, chart.values, strict=True)):
        middle = math.radians(angle + 1.8 * value)
        text = f"{value}%"
        x, y = center[0] + 0.66 * radius * math.cos(middle), center[1] + 0.66 * radius * math.sin(middle)
        font = _font(text, 11)
        draw_text(pen, (round(x - text_width(font, text) / 2), round(y + 5)), text, font, (255, 255, 255), _INK, 1)
        top = 74 + 26 * index
        pen.rectangle((228, top, 241, top + 13), fill=_PALETTE[index])
        draw_text(pen, (250, top + 12), name, _font(name, _LABEL_PX), _INK)
        angle += 3.6 * value
