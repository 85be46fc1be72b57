"""Products on a background: who stands where, who hides whom, and what of each can be seen."""

import random
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops, ImageDraw, ImageFilter
from tliveomni_eval.tasks.composer.photographs import draw_background
from tliveomni_eval.tasks.composer.products.product import Product

Box = tuple[int, int, int, int]
_MARGIN: Final = 2
# Photographs with a cup or a bottle in them, which the reference would not know of.
PHOTOGRAPHS_WITH_PRODUCTS: Final = ("coffee", "wine")
_TABLES: Final = ((186, 150, 112), (222, 214, 202), (120, 88, 62), (206, 190, 196), (150, 166, 172), (240, 236, 230))


@dataclass
class Placed:
    """A product's picture at its place.

    Attributes:
        product: What it is.
        picture: RGBA, as large as the product.
        left: Column of its left edge in the scene.
        top: Row of its upper edge.
        is_asked: Whether the question is about it.
        visible: Mask of what can be seen of it, in the coordinates of its picture.
    """

    product: Product
    picture: Image.Image
    left: int
    top: int
    is_asked: bool
    visible: npt.NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.visible = self.solid

    @property
    def solid(self) -> npt.NDArray[np.bool_]:
        """Mask of its pixels that are at least half opaque."""
        mask: npt.NDArray[np.bool_] = np.asarray(self.picture.getchannel("A")) >= 128
        return mask

    @property
    def extent(self) -> Box:
        """Left, top, right and bottom of the whole product, seen or not."""
        return (self.left, self.top, self.left + self.picture.width, self.top + self.picture.height)

    @property
    def hidden_share(self) -> float:
        """Share of its pixels that others cover."""
        return 1.0 - float(self.visible.sum()) / max(1.0, float(self.solid.sum()))

    @property
    def visible_box(self) -> Box | None:
        """The tightest box around what can be seen, in pixels (right and bottom exclusive); None when nothing can."""
        rows, columns = np.flatnonzero(self.visible.any(axis=1)), np.flatnonzero(self.visible.any(axis=0))
        if rows.size == 0:
            return None
        return (
            self.left + int(columns[0]),
            self.top + int(rows[0]),
            self.left + int(columns[-1]) + 1,
            self.top + int(rows[-1]) + 1,
        )


class Scene:
    """Products from back to front in a frame of a size in pixels."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        self.placed: list[Placed] = []

    def place_free(self, rng: random.Random, product: Product, picture: Image.Image, is_asked: bool) -> Placed | None:
        """Put a product where it touches no other; None where no free place was found."""
        width, height = self.size
        right, bottom = width - _MARGIN - picture.width, height - _MARGIN - picture.height
        if right < _MARGIN or bottom < _MARGIN:
            return None
        for _ in range(40):
            candidate = Placed(product, picture, rng.randint(_MARGIN, right), rng.randint(_MARGIN, bottom), is_asked)
            if not any(_touch(candidate.extent, other.extent) for other in self.placed):
                self.placed.append(candidate)
                return candidate
        return None

    def place_before(
        self,
        rng: random.Random,
        target: Placed,
        product: Product,
        picture: Image.Image,
        hidden: tuple[float, float],
        is_asked: bool,
    ) -> Placed | None:
        """Put a product in front of the target so that it hides a share of it in the range, and touches no other."""
        width, height = self.size
        for _ in range(80):
            left = rng.randint(target.left - picture.width, target.left + target.picture.width)
            top = rng.randint(target.top - picture.height // 2, target.top + target.picture.height)
            candidate = Placed(product, picture, left, top, is_asked)
            inside = left >= _MARGIN and top >= _MARGIN
            inside = inside and left + picture.width <= width - _MARGIN and top + picture.height <= height - _MARGIN
            others = (other for other in self.placed if other is not target)
            if not inside or any(_touch(candidate.extent, other.extent) for other in others):
                continue
            before = target.visible
            target.visible = before & ~_cover(target, candidate)
            if hidden[0] <= target.hidden_share <= hidden[1]:
                self.placed.append(candidate)
                return candidate
            target.visible = before
        return None

    def render(self, rng: random.Random) -> Image.Image:
        """The scene as an RGB image: background, table, and each product with its shadow, from back to front."""
        frame = draw_background(rng, self.size, without=PHOTOGRAPHS_WITH_PRODUCTS)
        if rng.random() < 0.65:
            _lay_table(rng, frame)
        for placed in self.placed:
            _cast_shadow(frame, placed)
            frame.paste(placed.picture, (placed.left, placed.top), placed.picture)
        return frame


def _touch(one: Box, other: Box) -> bool:
    gap = 1
    return one[0] < other[2] + gap and other[0] < one[2] + gap and one[1] < other[3] + gap and other[1] < one[3] + gap


def _cover(target: Placed, front: Placed) -> npt.NDArray[np.bool_]:
    """What the front product covers, in the coordinates of the target's picture."""
    covered = np.zeros_like(target.visible)
    height, width = covered.shape
    dx, dy = front.left - target.left, front.top - target.top
    solid = front.solid
    x0, y0 = max(0, dx), max(0, dy)
    x1, y1 = min(width, dx + solid.shape[1]), min(height, dy + solid.shape[0])
    if x0 < x1 and y0 < y1:
        covered[y0:y1, x0:x1] = solid[y0 - dy : y1 - dy, x0 - dx : x1 - dx]
    return covered


def _lay_table(rng: random.Random, frame: Image.Image) -> None:
    width, height = frame.size
    edge = round(height * rng.uniform(0.35, 0.6))
    colour = rng.choice(_TABLES)
    rows = np.linspace(0.82, 1.08, height - edge, dtype=np.float32)[:, None, None]
    columns = 1 - 0.16 * np.abs(np.linspace(-1, 1, width, dtype=np.float32))[None, :, None] ** 2
    surface = np.clip(np.asarray(colour, dtype=np.float32) * rows * columns, 0, 255).astype(np.uint8)
    table = Image.fromarray(surface, "RGB")
    behind = frame.crop((0, edge, width, height))
    frame.paste(Image.blend(behind, table, rng.uniform(0.86, 1.0)), (0, edge))
    ImageDraw.Draw(frame).line((0, edge, width, edge), fill=tuple(min(255, c + 24) for c in colour), width=1)


def _cast_shadow(frame: Image.Image, placed: Placed) -> None:
    """A soft ellipse below the product and a faint copy of its outline to the right."""
    reach = max(2, placed.picture.height // 14)
    pad = 3 * reach
    size = (placed.picture.width + 2 * pad, placed.picture.height + 2 * pad)
    shadow = Image.new("L", size, 0)
    alpha = placed.picture.getchannel("A").point(lambda value: value * 90 // 255)
    shadow.paste(alpha, (pad + reach, pad + reach // 2))
    foot = Image.new("L", size, 0)
    bottom = size[1] - pad
    ImageDraw.Draw(foot).ellipse((pad - reach // 2, bottom - reach, size[0] - pad + reach, bottom + reach), fill=120)
    shadow = ImageChops.lighter(shadow, foot).filter(ImageFilter.GaussianBlur(reach * 0.7))
    frame.paste((12, 10, 14), (placed.left - pad, placed.top - pad), shadow)
