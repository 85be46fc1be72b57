"""Traditional characters to simplified ones, by OpenCC's tables."""

from __future__ import annotations

from functools import cache
from importlib import resources

import opencc


@cache
def _converter() -> opencc.OpenCC:
    return opencc.OpenCC("t2s")


@cache
def _traditional() -> frozenset[str]:
    """The characters that OpenCC's table changes: text without one of them needs no conversion."""
    table = resources.files("opencc").joinpath("dictionary/TSCharacters.txt").read_text("utf-8")
    pairs = (line.split() for line in table.splitlines())
    return frozenset(pair[0] for pair in pairs if len(pair) > 1 and pair[0] != pair[1])


def to_simplified(text: str) -> str:
    """Write traditional characters as simplified ones; words stay as they are (計程車 is 计程车, not 出租车).

    >>> to_simplified("電視機打九折，著作")
    '电视机打九折，著作'
    """
    return text if _traditional().isdisjoint(text) else str(_converter().convert(text))
