"""Auxiliary training data for the vision tower: lines of text at known places, with the characters of every patch.

The language model's loss reaches the vision tower only through a few answer tokens an image; this one names what
stands in each 16 × 16 patch, so the tower learns to see characters early. Its head is not part of the checkpoint.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from tliveomni_eval.tasks.composer.alphabet import ALPHABET, corpus
from tliveomni_eval.tasks.composer.photographs import draw_background
from tliveomni_eval.tasks.composer.typefaces import advance, draw_text, font_for_height, text_width, usable_typefaces

from .architecture import MERGE_SIZE, PATCH_SIZE

SLOTS_A_PATCH = 3
"""Characters named in a patch, from left to right; narrow ones beyond are not labelled."""
BLANK = 0
"""Label of an unused slot; character `ALPHABET[i]` has label `i + 1`."""
LABEL_COUNT = len(ALPHABET) + 1
_HEIGHTS_PX = (10, 11, 12, 13, 14, 16, 18, 20, 23, 26, 30, 34)


@dataclass(frozen=True, slots=True)
class GlyphSheet:
    """An image and its labels.

    Attributes:
        pixels: (height, width, 3) bytes.
        labels: (patches, slots) labels, patches in merge order.
    """

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int16]


@cache
def _label_of() -> dict[str, int]:
    return {character: index + 1 for index, character in enumerate(ALPHABET)}


@cache
def _drawable() -> str:
    return "".join(character for character in ALPHABET if not character.isspace())


def _draw_text(rng: random.Random) -> str:
    """A known phrase, random digits and letters, or random characters: no grammar to lean on."""
    kind = rng.random()
    if kind < 0.35:
        text = rng.choice(corpus())
        start = rng.randrange(max(1, len(text) - 12))
        return text[start : start + 14].strip() or "0"
    if kind < 0.65:
        return "".join(rng.choice("0123456789.-¥￥$%ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(rng.randint(3, 11)))
    if kind < 0.8:
        return "".join(rng.choice(_drawable()[:94]) for _ in range(rng.randint(3, 12)))
    return "".join(rng.choice(_drawable()) for _ in range(rng.randint(2, 9)))


def _inks(rng: random.Random) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """A light and a dark colour in random order: ink and paper."""
    low = rng.randint(0, 90)
    dark = (rng.randint(0, low), rng.randint(0, low), rng.randint(0, low))
    high = rng.randint(170, 255)
    light = (rng.randint(high - 60, high), rng.randint(high - 60, high), rng.randint(high - 90, high))
    return (dark, light) if rng.random() < 0.5 else (light, dark)


def draw_glyph_sheet(seed: int, size: tuple[int, int], smallest_px: int = 10) -> GlyphSheet:
    """Draws the sheet of a seed.

    Args:
        seed: Any integer.
        size: (width, height) in pixels, multiples of 32.
        smallest_px: Smallest text height in pixels.
    """
    rng = random.Random(f"glyphs|{seed}|{size}|{smallest_px}")
    width, height = size
    frame: Image.Image = draw_background(rng, size)
    draw = ImageDraw.Draw(frame)
    grid: list[list[list[tuple[float, int]]]] = [
        [[] for _ in range(width // PATCH_SIZE)] for _ in range(height // PATCH_SIZE)
    ]
    top = rng.randint(0, 12)
    while True:
        # Small text is the hard part: heights are drawn with a lean towards it.
        heights = [height for height in _HEIGHTS_PX if height >= smallest_px]
        text_px = heights[int(len(heights) * rng.random() ** 1.5)]
        if top + text_px + 8 > height:
            break
        left = rng.randint(2, 40)
        line_end = _draw_line(rng, draw, grid, (left, top), text_px, width)
        while line_end + 60 < width and rng.random() < 0.7:
            line_end = _draw_line(rng, draw, grid, (line_end + rng.randint(8, 40), top), text_px, width)
        top += text_px + rng.randint(5, 16)
    return GlyphSheet(np.asarray(frame), _labels(grid))


def _draw_line(
    rng: random.Random,
    draw: ImageDraw.ImageDraw,
    grid: Sequence[Sequence[list[tuple[float, int]]]],
    corner: tuple[int, int],
    text_px: int,
    width: int,
) -> int:
    """Draws one piece of text and notes where its characters stand; returns its right end in pixels."""
    left, top = corner
    text = _draw_text(rng)
    font = font_for_height(rng.choice(usable_typefaces(text, text_px)), text, text_px)
    while len(text) > 1 and left + text_width(font, text) > width - 2:
        text = text[:-1]
    if left + text_width(font, text) > width - 2:
        return width
    baseline = top + text_px + 2
    right = left + int(text_width(font, text))
    ink, paper = _inks(rng)
    if rng.random() < 0.75:
        draw.rounded_rectangle((left - 3, top - 1, right + 3, baseline + 4), rng.choice((0, 3, 6)), fill=paper)
        draw_text(draw, (left, baseline), text, font, ink)
    else:
        draw_text(draw, (left, baseline), text, font, ink, outline=paper, stroke_px=1)
    row = (baseline - text_px // 2) // PATCH_SIZE
    start = float(left)
    for character in text:
        middle = start + advance(font, character) / 2
        start += advance(font, character)
        if not character.isspace():
            column = min(int(middle) // PATCH_SIZE, len(grid[row]) - 1)
            grid[row][column].append((middle, _label_of()[character]))
    return right


def _labels(grid: Sequence[Sequence[Sequence[tuple[float, int]]]]) -> NDArray[np.int16]:
    rows, columns = len(grid), len(grid[0])
    labels = np.full((rows, columns, SLOTS_A_PATCH), BLANK, dtype=np.int16)
    for row, cells in enumerate(grid):
        for column, found in enumerate(cells):
            for slot, (_, label) in enumerate(sorted(found)[:SLOTS_A_PATCH]):
                labels[row, column, slot] = label
    blocks = labels.reshape(rows // MERGE_SIZE, MERGE_SIZE, columns // MERGE_SIZE, MERGE_SIZE, SLOTS_A_PATCH)
    return blocks.transpose(0, 2, 1, 3, 4).reshape(rows * columns, SLOTS_A_PATCH)
