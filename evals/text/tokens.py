"""Tokens of a normalised transcript: Chinese by character, Latin by word."""

from __future__ import annotations

import re
from typing import Literal, get_args

from tliveomni_eval.evals.text.width import CJK

Language = Literal["zh", "en", "mixed"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_UNIT = re.compile(rf"[{CJK}]|[^\s{CJK}]+")
_LETTER = re.compile(r"[^\W\d_]")


def tokenize(text: str, lang: Language) -> list[str]:
    """Split a normalised transcript into the units whose errors are counted.

    An ideograph or kana is a token, whatever the language. Anything else is split at white space: a word with a
    letter in it is one token. A number is one token in English, as a word is; in Chinese and mixed speech each of its
    characters is one, as each spoken digit is a character.

    >>> tokenize("小棕瓶129.9元 iphone15", "zh")
    ['小', '棕', '瓶', '1', '2', '9', '.', '9', '元', 'iphone15']
    """
    units: list[str] = _UNIT.findall(text)
    if lang == "en":
        return units
    tokens: list[str] = []
    for unit in units:
        if _LETTER.search(unit):
            tokens.append(unit)
        else:
            tokens.extend(unit)
    return tokens
