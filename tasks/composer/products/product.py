"""A product that can be drawn: its kind, its colour, the brand on its label, and the form that makes it one of many."""

import random
from dataclasses import dataclass
from typing import Final, Literal

from tliveomni_eval.tasks.composer.catalogue import Side, belongs_to, draw_brand

Kind = Literal["bottle", "box", "tube", "mug", "shoe", "bag"]
Colour = Literal["red", "yellow", "green", "blue", "purple", "pink", "white", "black"]
Rgb = tuple[int, int, int]

KINDS: Final[tuple[Kind, ...]] = ("bottle", "box", "tube", "mug", "shoe", "bag")
COLOURS: Final[tuple[Colour, ...]] = ("red", "yellow", "green", "blue", "purple", "pink", "white", "black")

# Singular and plural in English; Chinese has one form.
KIND_NAMES: Final[dict[Kind, tuple[str, str, str]]] = {
    "bottle": ("瓶子", "bottle", "bottles"),
    "box": ("盒子", "box", "boxes"),
    "tube": ("软管", "tube", "tubes"),
    "mug": ("马克杯", "mug", "mugs"),
    "shoe": ("运动鞋", "shoe", "shoes"),
    "bag": ("手提包", "handbag", "handbags"),
}
COLOUR_NAMES: Final[dict[Colour, tuple[str, str]]] = {
    "red": ("红色", "red"),
    "yellow": ("黄色", "yellow"),
    "green": ("绿色", "green"),
    "blue": ("蓝色", "blue"),
    "purple": ("紫色", "purple"),
    "pink": ("粉色", "pink"),
    "white": ("白色", "white"),
    "black": ("黑色", "black"),
}
_SHADES: Final[dict[Colour, tuple[Rgb, ...]]] = {
    "red": ((200, 30, 38), (178, 22, 30), (214, 44, 40)),
    "yellow": ((242, 200, 46), (236, 188, 30), (246, 212, 84)),
    "green": ((44, 142, 72), (30, 116, 62), (70, 160, 84)),
    "blue": ((36, 92, 190), (28, 74, 160), (56, 122, 208)),
    "purple": ((118, 58, 160), (98, 46, 140), (134, 80, 178)),
    "pink": ((240, 150, 182), (246, 170, 196), (232, 134, 172)),
    "white": ((236, 236, 232), (244, 242, 238), (226, 228, 230)),
    "black": ((40, 40, 44), (30, 30, 32), (52, 50, 54)),
}
_ACCENTS: Final[tuple[Rgb, ...]] = ((236, 232, 222), (52, 50, 56), (206, 172, 104), (150, 152, 158), (96, 66, 48))
# Two colours that people may name alike never meet as target and distractor.
_ALIKE: Final = (frozenset({"red", "pink"}), frozenset({"purple", "pink"}), frozenset({"purple", "blue"}))
FORMS: Final = 200


@dataclass(frozen=True)
class Product:
    """One product.

    Attributes:
        kind: what it is.
        colour: name of its main colour.
        body: its main colour.
        accent: colour of cap, sole, handle or stripe.
        brand: printed on it.
        form: number of its shape among `FORMS` of its kind; training and evaluation share none.
        mirrored: handle or toe on the other side.
    """

    kind: Kind
    colour: Colour
    body: Rgb
    accent: Rgb
    brand: str
    form: int
    mirrored: bool

    def proportions(self) -> random.Random:
        """Source of the numbers that make its shape; the same for every drawing of the same form."""
        return random.Random(f"{self.kind} form {self.form}")


def draw_product(rng: random.Random, side: Side, kind: Kind, colour: Colour) -> Product:
    """A product of the kind and colour whose brand and form belong to the side."""
    body = rng.choice(_SHADES[colour])
    while True:
        form = rng.randrange(FORMS)
        if belongs_to(f"{kind} form {form}", side):
            break
    return Product(
        kind=kind,
        colour=colour,
        body=body,
        accent=rng.choice([accent for accent in _ACCENTS if _distance(accent, body) > 110]),
        brand=draw_brand(rng, side, rng.choice(("zh", "en"))),
        form=form,
        mirrored=rng.random() < 0.5,
    )


def look_alike(one: Colour, other: Colour) -> bool:
    """Whether two colours are the same or may be given the same name."""
    return one == other or frozenset({one, other}) in _ALIKE


def _distance(one: Rgb, other: Rgb) -> int:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))
