"""One sample of live_ocr: a frame of a shopping live stream, a question about it and the reference answer.

``compose_ocr_sample`` is a pure function of its arguments: the same seed gives the same text and layout on every
machine (and the same pixels with the same Pillow). It keeps no state but caches, so threads and processes may share it.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, get_args

from PIL import Image
from tliveomni_eval.tasks.composer import degradations
from tliveomni_eval.tasks.composer.alphabet import ALPHABET, corpus
from tliveomni_eval.tasks.composer.card_plan import CardPlan, plan_card
from tliveomni_eval.tasks.composer.card_text import Language
from tliveomni_eval.tasks.composer.catalogue import Side
from tliveomni_eval.tasks.composer.frame import render_frame
from tliveomni_eval.tasks.composer.prompts import FIELDS, PROMPTS, Field, prompt_for
from tliveomni_eval.tasks.composer.sample_space import IMAGE_SIZES, LANGUAGES, LINE_COUNTS, QUALITIES, TEXT_HEIGHTS

__all__ = [
    "ALPHABET",
    "FIELDS",
    "IMAGE_SIZES",
    "LANGUAGES",
    "LINE_COUNTS",
    "PROMPTS",
    "QUALITIES",
    "TEXT_HEIGHTS",
    "OcrSample",
    "compose_ocr_sample",
    "corpus",
]

_ATTEMPTS: Final = 240
# Values that fit rarely (a large table in a small image) get this many attempts before free ones are drawn anew.
_ATTEMPTS_PER_VALUES: Final = 20


@dataclass(frozen=True)
class OcrSample:
    """A composed sample.

    Attributes:
        image: RGB, sides are multiples of 32 pixels.
        prompt: the question, in Chinese for ``zh`` and ``mixed``, in English for ``en``.
        reference: the only right answer (a Markdown table for field ``table``).
        field: what is asked.
        slices: values of ``lang``, ``text_px``, ``field``, ``quality`` and ``lines``.
        text_height: height of the asked text in pixels: of a Chinese character's em, else of a capital letter.
        line_count: number of text lines in the frame.
    """

    image: Image.Image
    prompt: str
    reference: str
    field: Field
    slices: dict[str, str]
    text_height: int
    line_count: int


def compose_ocr_sample(
    seed: int,
    side: Side,
    *,
    field: Field | None = None,
    lang: Language | None = None,
    size: tuple[int, int] | None = None,
    difficulty: float = 1.0,
    target_values: Mapping[str, str] | None = None,
) -> OcrSample:
    """Compose the sample of a seed.

    Args:
        seed: any integer.
        side: ``train`` or ``eval``; their brands and product types are disjoint.
        field: what to ask; drawn if None.
        lang: language of the card; drawn if None.
        size: image (width, height) in pixels, one of ``IMAGE_SIZES``; drawn if None.
        difficulty: 0 is one large clean line, 1 the full distribution; in between a mixture of both.
        target_values: slice values that the sample must have, for any of ``lang``, ``field``, ``text_px``,
            ``quality`` and ``lines``.

    Raises:
        ValueError: an argument is out of its range, or no card with these values fits into the image size.
    """
    wanted = dict(target_values or {})
    for key, value in (("field", field), ("lang", lang)):
        if value is not None and wanted.setdefault(key, value) != value:
            raise ValueError(f"{key}={value!r} contradicts target_values[{key!r}]={wanted[key]!r}")
    _check(side, size, difficulty, wanted)
    # The arguments enter the seed, so that two calls that differ in one of them are independent draws.
    rng = random.Random(f"{seed}|{side}|{sorted(wanted.items())}|{size}|{difficulty}")
    values = _draw_values(rng, wanted, difficulty)
    for attempt in range(_ATTEMPTS):
        if attempt % _ATTEMPTS_PER_VALUES == _ATTEMPTS_PER_VALUES - 1:
            values = _draw_values(rng, wanted, difficulty)
        plan = plan_card(rng, side, values, size, hurry=attempt / _ATTEMPTS)
        if plan is not None:
            return _render(rng, plan)
    raise ValueError(f"no card with {wanted} fits into an image of {size or 'any size'} (side {side!r}, seed {seed})")


def _check(side: str, size: tuple[int, int] | None, difficulty: float, wanted: Mapping[str, str]) -> None:
    allowed: dict[str, tuple[str, ...]] = {
        "field": FIELDS,
        "lang": LANGUAGES,
        "text_px": tuple(TEXT_HEIGHTS),
        "quality": QUALITIES,
        "lines": tuple(LINE_COUNTS),
    }
    if side not in get_args(Side):
        raise ValueError(f"side must be 'train' or 'eval', not {side!r}")
    if size is not None and size not in IMAGE_SIZES:
        raise ValueError(f"size must be one of {list(IMAGE_SIZES)}, not {size!r}")
    if not 0 <= difficulty <= 1:
        raise ValueError(f"difficulty must be between 0 and 1, not {difficulty!r}")
    for key, value in wanted.items():
        if key not in allowed:
            raise ValueError(f"target_values has the unknown slice {key!r}; known are {list(allowed)}")
        if value not in allowed[key]:
            raise ValueError(f"slice {key} must be one of {list(allowed[key])}, not {value!r}")


def _draw_values(rng: random.Random, wanted: Mapping[str, str], difficulty: float) -> dict[str, str]:
    """Slice values of a sample: the wanted ones, the others drawn."""
    full = rng.random() < difficulty
    field = wanted.get("field") or rng.choice(FIELDS if full else tuple(f for f in FIELDS if f != "table"))
    lines = tuple(LINE_COUNTS)[1 if field == "table" else 0 :]
    easy = {"text_px": "27+", "quality": "clean", "lines": lines[0]}
    drawn = {
        "lang": rng.choice(LANGUAGES),
        "text_px": rng.choice(tuple(TEXT_HEIGHTS)),
        "quality": rng.choice(QUALITIES),
        "lines": rng.choice(lines),
    }
    return {**drawn, **({} if full else easy), **wanted, "field": field}


def _render(rng: random.Random, plan: CardPlan) -> OcrSample:
    frame = render_frame(rng, plan)
    quality = plan.values["quality"]
    if quality == "jpeg":
        frame = degradations.compress_jpeg(rng, frame, plan.text_height)
    elif quality == "blur":
        frame = degradations.blur(rng, frame, plan.text_height)
    return OcrSample(
        image=frame,
        prompt=prompt_for(plan.field, plan.lang),
        reference=plan.reference,
        field=plan.field,
        slices=dict(plan.values),
        text_height=plan.text_height,
        line_count=plan.line_count,
    )
