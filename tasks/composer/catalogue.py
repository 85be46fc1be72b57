"""Product catalogue of the composer: invented brands and products by category, in Chinese and English.

Brands are drawn from syllables, product types from (feature, noun) pairs. A brand and a product type each belong to
exactly one side, decided by a hash of the text, so no brand and no product type of the evaluation side is ever drawn
for training, while both sides use the same characters.
"""

import json
import random
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

Side = Literal["train", "eval"]
EVAL_SHARE_PERCENT: Final = 20


@dataclass(frozen=True)
class Category:
    """One product category: the parts that its names are made of, and its price range in yuan."""

    key: str
    features_zh: tuple[str, ...]
    nouns_zh: tuple[str, ...]
    features_en: tuple[str, ...]
    nouns_en: tuple[str, ...]
    sizes: tuple[str, ...]
    price_range: tuple[int, int]


def _load() -> dict[str, Any]:
    parts: dict[str, Any] = json.loads(Path(__file__).with_name("catalogue.json").read_text(encoding="utf-8"))
    return parts


_PARTS: Final = _load()
BRAND_CHARACTERS_ZH: Final[str] = _PARTS["brand_characters_zh"]
BRAND_STARTS_EN: Final[tuple[str, ...]] = tuple(_PARTS["brand_starts_en"])
BRAND_ENDS_EN: Final[tuple[str, ...]] = tuple(_PARTS["brand_ends_en"])
CATEGORIES: Final[tuple[Category, ...]] = tuple(
    Category(
        key=parts["key"],
        features_zh=tuple(parts["features_zh"]),
        nouns_zh=tuple(parts["nouns_zh"]),
        features_en=tuple(parts["features_en"]),
        nouns_en=tuple(parts["nouns_en"]),
        sizes=tuple(parts["sizes"]),
        price_range=(parts["price_range"][0], parts["price_range"][1]),
    )
    for parts in _PARTS["categories"]
)


def belongs_to(text: str, side: Side) -> bool:
    """Whether a brand or product type is of the given side (a fixed hash decides, about 20 % are evaluation's)."""
    is_eval = zlib.crc32(text.encode("utf-8")) % 100 < EVAL_SHARE_PERCENT
    return is_eval == (side == "eval")


def draw_brand(rng: random.Random, side: Side, script: Literal["zh", "en"]) -> str:
    """An invented brand of two or three characters (zh) or two syllables (en) that belongs to the side."""
    while True:
        if script == "zh":
            brand = "".join(rng.sample(BRAND_CHARACTERS_ZH, rng.choice((2, 2, 3))))
        else:
            brand = rng.choice(BRAND_STARTS_EN) + rng.choice(BRAND_ENDS_EN)
        if belongs_to(brand, side):
            return brand


def draw_product_type(rng: random.Random, side: Side, category: Category, script: Literal["zh", "en"]) -> str:
    """A feature and a noun, for example 玻尿酸面霜 or ``Organic Green Tea``, that belong to the side as a pair."""
    while True:
        if script == "zh":
            text = rng.choice(category.features_zh) + rng.choice(category.nouns_zh)
        else:
            text = f"{rng.choice(category.features_en)} {rng.choice(category.nouns_en)}"
        if belongs_to(text, side):
            return text


def draw_size(rng: random.Random, category: Category, script: Literal["zh", "en"]) -> str:
    """A pack size of the category; for English names only one that has no Chinese character."""
    sizes = category.sizes if script == "zh" else tuple(size for size in category.sizes if size.isascii())
    return rng.choice(sizes or ("1kg",))
