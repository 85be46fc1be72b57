"""What is said in the bank of utterances: sentences of a shopping live stream, each for one voice of one side.

Sentences, brands and product types belong to exactly one side by a hash of their text (`catalogue.belongs_to`), and
voices by `speech_voices.VOICES`, so nothing said on the evaluation side is ever said for training.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tliveomni_eval.evals.text.tokens import LANGUAGES, Language
from tliveomni_eval.tasks.composer.catalogue import (
    CATEGORIES,
    Category,
    Side,
    belongs_to,
    draw_brand,
    draw_product_type,
)
from tliveomni_eval.tasks.composer.speech_voices import VOICES, Voice
from tliveomni_eval.tasks.composer.spoken_amounts import (
    chinese_number,
    chinese_price,
    draw_cents,
    draw_code,
    english_number,
    english_price,
    spoken_code,
)

_GRAMMAR: Final[dict[str, Any]] = json.loads(
    Path(__file__).with_name("speech_grammar.json").read_text(encoding="utf-8")
)
_SPEEDS: Final = (1.0, 1.05, 1.1, 1.15, 1.2)
_SEED_STRIDE: Final = 1_000_000
_BRANDED_EVERY: Final = 3
_CODE_SHARE: Final = 0.15
_HAN: Final = "\u4e00-\u9fff"
_SPACE_IN_CHINESE: Final = re.compile(rf"(?<=[{_HAN}，]) (?=[{_HAN}])|(?<=，) ")
_BORDER: Final = re.compile(rf"(?<=[{_HAN}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[{_HAN}])")


@dataclass(frozen=True, slots=True)
class SpeechLine:
    """One sentence to be said.

    Attributes:
        id: Unique within its side, e.g. `eval-zh-0012`.
        lang: Language of the sentence.
        kind: What it does: `brand`, `sku`, `greeting`, `price`, `question`, …
        text: The reference transcript: numbers in words, product codes as written.
        spoken: What the synthesiser is given: as `text`, product codes spelled out.
        names: Brand, product type and code in it that a hotword list may hold.
        voice: Who says it.
        speed: Rate of speech, 1 is the voice's own.
    """

    id: str
    lang: Language
    kind: str
    text: str
    spoken: str
    names: tuple[str, ...]
    voice: Voice
    speed: float


def plan_lines(side: Side, count: int, seed: int) -> list[SpeechLine]:
    """The lines of a bank: languages in turn, a third with a brand or code, voices of the language in turn.

    Args:
        side: Evaluation or training.
        count: How many; a smaller count gives the beginning of the same list.
        seed: Of the whole bank.
    """
    lines: list[SpeechLine] = []
    said: set[str] = set()
    for index in range(count):
        rng = random.Random(seed * _SEED_STRIDE + index)
        lang = LANGUAGES[index % len(LANGUAGES)]
        turn = index // len(LANGUAGES)
        voices = VOICES[side][lang]
        while True:
            line = _draw_line(rng, side, lang, branded=turn % _BRANDED_EVERY == 0)
            if line["text"] not in said and belongs_to(line["text"], side):
                break
        said.add(line["text"])
        lines.append(
            SpeechLine(
                id=f"{side}-{lang}-{turn:04d}",
                lang=lang,
                voice=voices[rng.randrange(len(voices))],
                speed=rng.choice(_SPEEDS),
                **line,
            )
        )
    return lines


def _draw_line(rng: random.Random, side: Side, lang: Language, branded: bool) -> dict[str, Any]:
    """Fill one template: `kind`, `text`, `spoken` and `names`."""
    grammar = _GRAMMAR[lang]
    templates = grammar["branded" if branded else "plain"]
    branded_kind = "sku" if branded and rng.random() < _CODE_SHARE else "brand"
    kind = branded_kind if branded else rng.choice(sorted(templates))
    template = rng.choice(templates[kind])
    category = rng.choice(CATEGORIES)
    slots = _draw_slots(rng, side, lang, category, grammar["slots"])
    names = tuple(slots[key] for key in ("brand", "product", "sku") if branded and f"{{{key}}}" in template)
    spoken_slots = {**slots, "sku": spoken_code(slots["sku"], chinese=lang != "en")}
    return {
        "kind": kind,
        "text": _tidy(template.format(**slots)),
        "spoken": _tidy(template.format(**spoken_slots)).replace("VIP", "V I P"),
        "names": names,
    }


def _tidy(text: str) -> str:
    """One space between Chinese and Latin, none inside of Chinese; an English sentence begins with a capital."""
    text = _SPACE_IN_CHINESE.sub("", text)
    text = _BORDER.sub(" ", text)
    return text[0].upper() + text[1:]


def _draw_slots(
    rng: random.Random, side: Side, lang: Language, category: Category, choices: dict[str, list[str]]
) -> dict[str, str]:
    number, price_words = (english_number, english_price) if lang == "en" else (chinese_number, chinese_price)
    low, high = category.price_range
    price = draw_cents(rng, low, max(low + 1, high // 2))
    old_price = round(price / 100 * rng.choice((1.3, 1.5, 2))) * 100
    colours = rng.sample(choices["colour"], 2)
    drawn = {name: rng.choice(values) for name, values in choices.items()}
    discount = rng.choice((50, 60, 65, 70, 75, 80, 85, 88, 90, 95))
    return {
        **drawn,
        "brand": draw_brand(rng, side, "zh" if lang == "zh" else "en"),
        "product": _lower_words(draw_product_type(rng, side, category, "en" if lang == "en" else "zh")),
        "sku": draw_code(rng),
        "colour": colours[0],
        "colour2": colours[1],
        "price": price_words(price),
        "old_price": price_words(old_price),
        "count": number(rng.choice((rng.randint(3, 30), rng.randint(30, 300), rng.randint(300, 999)))),
        "few": number(rng.randint(3, 10)),
        "link": number(rng.randint(1, 30)),
        "percent": number(rng.choice((5, 10, 15, 20, 25, 30, 40, 50))),
        "discount": "".join(chinese_number(int(digit)) for digit in str(discount).rstrip("0")),
    }


def _lower_words(product: str) -> str:
    """English product types in lower case, but for words of capitals (USB)."""
    return " ".join(word if word.isupper() else word.lower() for word in product.split(" "))
