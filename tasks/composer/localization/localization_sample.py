"""One sample of live_localization: a product scene, what to find in it, and the boxes in pixels.

`compose_localization_sample` is a pure function of its arguments: the same seed gives the same scene on every machine
(and the same pixels with the same Pillow).
"""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from PIL import Image
from tliveomni_eval.tasks.composer.catalogue import Side
from tliveomni_eval.tasks.composer.localization.scene import Box, Placed, Scene
from tliveomni_eval.tasks.composer.localization.scene_space import (
    AREAS,
    IMAGE_SIZES,
    INSTANCES,
    LANGUAGES,
    OCCLUSIONS,
    Language,
)
from tliveomni_eval.tasks.composer.products.product import (
    COLOUR_NAMES,
    COLOURS,
    KIND_NAMES,
    KINDS,
    Colour,
    Kind,
    Product,
    draw_product,
    look_alike,
)
from tliveomni_eval.tasks.composer.products.product_picture import product_picture

_ATTEMPTS: Final = 120
# Width over height of a typical product, to draw it near a wanted area.
_ASPECTS: Final[dict[Kind, float]] = {"bottle": 0.38, "box": 1.05, "tube": 0.38, "mug": 1.2, "shoe": 1.95, "bag": 1.1}


@dataclass(frozen=True)
class LocalizationSample:
    """A composed sample.

    Attributes:
        image: RGB, sides are multiples of 32 pixels.
        query: What is to be found, e.g. `red bottle`, in the sample's language.
        label: Name of its category in that language.
        boxes: Left, top, right, bottom in pixels (right and bottom exclusive) around what can be seen of each
            instance, sorted from left to right.
        slices: `category`, `instances`, `lang` and, where there is an instance, `occlusion` and `size`.
    """

    image: Image.Image
    query: str
    label: str
    boxes: tuple[Box, ...]
    slices: dict[str, str]


@dataclass(frozen=True)
class _Question:
    """What is asked for: all products of a kind, or those of them that have a colour."""

    kind: Kind
    colour: Colour | None

    def matches(self, kind: Kind, colour: Colour) -> bool:
        return kind == self.kind and (self.colour is None or colour == self.colour)

    def may_distract(self, kind: Kind, colour: Colour) -> bool:
        if kind != self.kind:
            return True
        return self.colour is not None and not look_alike(colour, self.colour)

    def text(self, lang: Language) -> str:
        name_zh, name_en, _ = KIND_NAMES[self.kind]
        if self.colour is None:
            return name_zh if lang == "zh" else name_en
        colour_zh, colour_en = COLOUR_NAMES[self.colour]
        return f"{colour_zh}的{name_zh}" if lang == "zh" else f"{colour_en} {name_en}"


def compose_localization_sample(
    seed: int, side: Side, target_values: Mapping[str, str] | None = None
) -> LocalizationSample:
    """Compose the sample of a seed.

    Args:
        seed: Decides everything that `target_values` leaves open.
        side: Whose brands and product forms are drawn; `train` and `eval` share none.
        target_values: Slice values that the sample must have.

    Raises:
        ValueError: A slice or a value is not known, or no scene with these values was found.
    """
    wanted = dict(target_values or {})
    _check(side, wanted)
    for attempt in range(_ATTEMPTS):
        rng = random.Random(f"live_localization {side} {seed} {attempt}")
        sample = _attempt(rng, side, _draw_values(rng, wanted))
        if sample is not None:
            return sample
    raise ValueError(f"no scene with {wanted} was found (side {side!r}, seed {seed})")


def _check(side: str, wanted: Mapping[str, str]) -> None:
    allowed: dict[str, tuple[str, ...]] = {
        "category": KINDS,
        "instances": tuple(INSTANCES),
        "lang": LANGUAGES,
        "occlusion": tuple(OCCLUSIONS),
        "size": tuple(AREAS),
    }
    if side not in ("train", "eval"):
        raise ValueError(f"side must be 'train' or 'eval', not {side!r}")
    for key, value in wanted.items():
        if key not in allowed:
            raise ValueError(f"target_values has the unknown slice {key!r}; known are {list(allowed)}")
        if value not in allowed[key]:
            raise ValueError(f"slice {key} must be one of {list(allowed[key])}, not {value!r}")


def _draw_values(rng: random.Random, wanted: Mapping[str, str]) -> dict[str, str]:
    drawn = {
        "category": rng.choice(KINDS),
        "instances": rng.choice(tuple(INSTANCES)),
        "lang": rng.choice(LANGUAGES),
        "occlusion": rng.choice(tuple(OCCLUSIONS)),
        "size": rng.choice(tuple(AREAS)),
    }
    return drawn | dict(wanted)


def _attempt(rng: random.Random, side: Side, values: dict[str, str]) -> LocalizationSample | None:
    kind = cast(Kind, values["category"])
    question = _Question(kind, rng.choice(COLOURS) if rng.random() < 0.5 else None)
    fewest, most = INSTANCES[values["instances"]]
    count = rng.randint(fewest, most)
    crowded = values["size"] == "large" and count > 1
    scene = Scene(IMAGE_SIZES[-1] if crowded else rng.choices(IMAGE_SIZES, (4, 3, 1))[0])
    asked = _place_asked(rng, side, scene, question, count, values["size"])
    if asked is None or not _hide(rng, side, scene, question, asked, values["occlusion"]):
        return None
    if not _place_distractors(rng, side, scene, question, crowded):
        return None
    boxes = [box for item in scene.placed if item.is_asked and (box := item.visible_box) is not None]
    low, high = AREAS[values["size"]]
    if len(boxes) != count or not all(low <= _area(box) <= high for box in boxes):
        return None
    slices = dict(values)
    if not count:
        del slices["occlusion"], slices["size"]
    lang = cast(Language, values["lang"])
    return LocalizationSample(
        image=scene.render(rng),
        query=question.text(lang),
        label=KIND_NAMES[kind][0 if lang == "zh" else 1],
        boxes=tuple(sorted(boxes)),
        slices=slices,
    )


def _place_asked(
    rng: random.Random, side: Side, scene: Scene, question: _Question, count: int, size: str
) -> list[Placed] | None:
    asked = []
    for _ in range(count):
        colour: Colour = rng.choice(COLOURS) if question.colour is None else question.colour
        product = draw_product(rng, side, question.kind, colour)
        placed = scene.place_free(rng, product, _picture(rng, product, _draw_area(rng, size, count)), is_asked=True)
        if placed is None:
            return None
        asked.append(placed)
    return asked


def _hide(
    rng: random.Random, side: Side, scene: Scene, question: _Question, asked: list[Placed], occlusion: str
) -> bool:
    """Put other products before one of the asked-for ones, or before two; others stay whole."""
    if occlusion == "none" or not asked:
        return True
    targets = rng.sample(asked, min(len(asked), rng.choice((1, 1, 2))))
    for number, target in enumerate(targets):
        product = _draw_distractor(rng, side, question)
        area = _area(target.extent) * rng.uniform(0.5, 1.1)
        hidden = OCCLUSIONS[occlusion]
        if scene.place_before(rng, target, product, _picture(rng, product, area), hidden, False) is None:
            return number > 0
    return True


def _place_distractors(rng: random.Random, side: Side, scene: Scene, question: _Question, crowded: bool) -> bool:
    """Other products in free places; where a colour is asked for, at least one of the kind has another colour."""
    missing = 1 if question.colour is not None else 0
    for _ in range(rng.randint(1, 2) if crowded else rng.randint(1, 4)):
        product = _draw_distractor(rng, side, question, question.kind if missing else None)
        size = rng.choice(("small", "medium") if crowded else ("small", "medium", "medium", "large"))
        if scene.place_free(rng, product, _picture(rng, product, _draw_area(rng, size, 2)), is_asked=False) is not None:
            missing = 0
    return missing == 0 and len(scene.placed) > 0


def _draw_distractor(rng: random.Random, side: Side, question: _Question, kind: Kind | None = None) -> Product:
    while True:
        drawn: Kind = rng.choice(KINDS) if kind is None else kind
        colour: Colour = rng.choice(COLOURS)
        if question.may_distract(drawn, colour):
            return draw_product(rng, side, drawn, colour)


def _draw_area(rng: random.Random, size: str, count: int) -> float:
    low, high = AREAS[size]
    if size == "large" and count > 2:
        high = 16000
    return math.exp(rng.uniform(math.log(low * 1.08), math.log(high)))


def _picture(rng: random.Random, product: Product, area: float) -> Image.Image:
    height = max(12, round(math.sqrt(area / _ASPECTS[product.kind])))
    return product_picture(product, height, rng.uniform(-12, 12) if rng.random() < 0.4 else 0.0)


def _area(box: Box) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])
