"""Facts of a closed list, and how well a text states one: fuzzy in its words, exact in its numbers and required words.

A text is a row of tokens: each Chinese character, each word, each number. A fact is looked for in every window of about
as many tokens as one of its wordings has; the similarity is rapidfuzz's normalized Indel similarity
(`rapidfuzz.fuzz.ratio`), and a window counts only where it holds the same numbers and the required words, so that ¥36
never states ¥35 and a blue handbag is no red one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

FACT_SIMILARITY = 0.85
"""Similarity from which a window states a fact: `mugs` states `mug` (0.857), `shows` does not state `shoes` (0.8)."""

_NO_CENTS = re.compile(r"(?<=\d)\.0+\Z")
_TOKEN = re.compile(r"\d+(?:\.\d+)?|[㐀-鿿]|[^\W\d_㐀-鿿]+")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is certainly seen or heard.

    Attributes:
        text: As the reference words it; has at least one letter or digit.
        aliases: Other wordings that count as well.
        kind: What the fact is about, e.g. `price`; for the viewer.
        required: Texts whose tokens a window must hold exactly, e.g. a colour.
    """

    text: str
    aliases: tuple[str, ...] = ()
    kind: str = ""
    required: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for wording in (self.text, *self.aliases):
            if not tokens(wording):
                raise ValueError(f"a fact needs a letter or a digit in each wording, got {wording!r}")

    @property
    def wordings(self) -> tuple[str, ...]:
        """The text and its aliases."""
        return (self.text, *self.aliases)


def tokens(text: str) -> tuple[str, ...]:
    """Chinese characters, words and numbers of a text in their order, NFKC-normalised and case-folded; 35.00 is 35.

    >>> tokens("到手价 ￥35, Aloe Serum")
    ('到', '手', '价', '35', 'aloe', 'serum')
    """
    found = _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())
    return tuple(_NO_CENTS.sub("", token) for token in found)


def fact_similarity(fact: Fact, said: Sequence[str]) -> float:
    """How well a text states a fact.

    Args:
        fact: The fact.
        said: `tokens` of the text.

    Returns:
        Largest similarity between a wording and a window of the text that holds the same numbers, in 0..1.

    >>> fact_similarity(Fact("¥35"), tokens("only ¥35 today")), fact_similarity(Fact("¥35"), tokens("¥36"))
    (1.0, 0.0)
    """
    required = {token for text in fact.required for token in tokens(text)}
    if not required <= set(said):
        return 0.0
    return max(_similarity(tokens(wording), said, required) for wording in fact.wordings)


def _similarity(wording: tuple[str, ...], said: Sequence[str], required: set[str]) -> float:
    numbers = _numbers(wording)
    wanted = _joined(wording)
    best = 0.0
    for size in {max(1, len(wording) - 1), len(wording), len(wording) + 1}:
        windows = {tuple(said[start : start + size]) for start in range(max(1, len(said) - size + 1))}
        for window in windows:
            if window and required <= set(window) and _numbers(window) == numbers:
                best = max(best, fuzz.ratio(wanted, _joined(window), score_cutoff=best * 100) / 100)
    return best


def _numbers(row: Sequence[str]) -> list[str]:
    return [token for token in row if token[0].isdigit()]


def _joined(row: Sequence[str]) -> str:
    return " ".join(row) if all(token.isascii() for token in row) else "".join(row)
