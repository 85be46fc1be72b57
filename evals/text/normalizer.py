"""The text normaliser of speech recognition: what counts as the same transcript, step by step.

`STEPS` is all there is, in order; `NORMALIZER_VERSION` changes whenever a step changes what it returns, and is logged
with every score, because error rates under two versions cannot be compared. Both the reference and the output pass
through the same steps.

Two different numbers never become equal: digits are only ever rewritten from a well-formed spoken number, a decimal
point between digits stays, and trailing zeros go only in amounts of money.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from tliveomni_eval.evals.text.amounts import canonical_amounts
from tliveomni_eval.evals.text.simplified_chinese import to_simplified
from tliveomni_eval.evals.text.spoken_numbers import chinese_numbers_to_digits, english_numbers_to_digits
from tliveomni_eval.evals.text.width import fold_spaces

NORMALIZER_VERSION = "1"

MAX_NORMALIZED_CHARS = 20_000
"""A text is cut here after compatibility forms are unfolded: one code point can unfold to eighteen."""

_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'"})
_FILLERS = re.compile(r"[嗯呃啊唔诶欸噢哦]|(?<![a-z0-9'])(?:uh+|um+|uhm|erm?|hm+|mm+|mhm|ah+)(?![a-z0-9'])")
_CODE_HYPHEN = re.compile(r"(?<=[a-z])-(?=[0-9])|(?<=[0-9])-(?=[a-z])")
_IDEOGRAPHS = re.compile(r"[\u4e00-\u9fff]+")
_REWRITTEN = frozenset("嗯呃啊唔诶欸噢哦零〇一幺二两三四五六七八九十百千万亿")
"""Simplified ideographs that a step may drop or rewrite: hesitations, and what numbers are written with. The steps for
amounts need a digit."""
_PUNCTUATION = re.compile(r"(?<=[0-9])\.(?=[0-9])|(?<=[0-9])%|(?<=[a-z])'(?=[a-z])|([^\w]|_)")


def fold_compatibility(text: str) -> str:
    """NFKC: full-width forms, ligatures and composed marks in one form; typographic apostrophes as `'`."""
    return unicodedata.normalize("NFKC", text)[:MAX_NORMALIZED_CHARS].translate(_APOSTROPHES)


def fold_case(text: str) -> str:
    """Lower case."""
    return text.lower()


def drop_fillers(text: str) -> str:
    """Without hesitations and sentence particles (嗯, 呃, 啊, uh, um)."""
    return _FILLERS.sub(" ", text)


def join_codes(text: str) -> str:
    """Without the hyphens inside of a product code: `ab-1020-x` is `ab1020x`."""
    return _CODE_HYPHEN.sub("", text)


def drop_punctuation(text: str) -> str:
    """Without marks and symbols, except a point between digits, `%` behind one, and `'` inside of a word."""
    return _PUNCTUATION.sub(lambda match: " " if match[1] else match[0], text)


STEPS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("compatibility forms", fold_compatibility),
    ("case", fold_case),
    ("traditional to simplified", to_simplified),
    ("fillers", drop_fillers),
    ("Chinese numbers", chinese_numbers_to_digits),
    ("English numbers", english_numbers_to_digits),
    ("amounts of money", canonical_amounts),
    ("product codes", join_codes),
    ("punctuation", drop_punctuation),
    ("spaces", fold_spaces),
)


def normalize_transcript(text: str) -> str:
    """Apply all steps.

    >>> normalize_transcript("這款小棕瓶，嗯，只要一百二十九塊九！")
    '这款小棕瓶只要129.9元'
    >>> normalize_transcript("It's $12.50, one hundred and five left.")
    "it's 12.5 dollars 105 left"
    """
    if _is_left_alone(text):
        return text
    for _, step in STEPS:
        text = step(text)
    return text


def _is_left_alone(text: str) -> bool:
    """Whether no step changes the text, told without running them: hotwords mostly are such texts."""
    return (
        len(text) <= MAX_NORMALIZED_CHARS
        and _IDEOGRAPHS.fullmatch(text) is not None
        and _REWRITTEN.isdisjoint(text)
        and to_simplified(text) is text
    )
