"""JSON values inside a model's prose: with text around, several in a row, or broken off at the token limit."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

MAX_FAILED_ATTEMPTS = 200
"""Opening brackets that may fail to start a JSON value before the search ends; bounds the time on hostile text."""

_OPENING = re.compile(r"[\[{]")


@dataclass(frozen=True, slots=True)
class EmbeddedJson:
    """The JSON values found in a text.

    Attributes:
        values: Outermost complete values in order of appearance; NaN and Infinity are read as None.
        incomplete: True when a value was opened and the text ended before it closed (the token limit was hit).
    """

    values: tuple[Any, ...]
    incomplete: bool


_decoder = json.JSONDecoder(parse_constant=lambda _: None)


def find_json(text: str) -> EmbeddedJson:
    """Finds the outermost JSON arrays and objects of a text.

    A list that breaks off still yields its complete elements. An object that breaks off yields nothing of its inside,
    because a part of an object has another meaning than the whole (a box without its label).

    Args:
        text: Any text.

    Returns:
        The values and whether the last one was broken off.
    """
    values: list[Any] = []
    incomplete = False
    failed = 0
    position = 0
    while failed < MAX_FAILED_ATTEMPTS:
        opening = _OPENING.search(text, position)
        if opening is None:
            break
        start = opening.start()
        try:
            value, position = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as fault:
            failed += 1
            incomplete = incomplete or _ran_into_the_end(fault, text)
            position = start + 1 if text[start] == "[" else _after_broken_object(text, start)
        else:
            values.append(value)
    return EmbeddedJson(tuple(values), incomplete)


def _ran_into_the_end(fault: Exception, text: str) -> bool:
    if not isinstance(fault, json.JSONDecodeError):
        return False
    return fault.msg.startswith("Unterminated string") or fault.pos >= len(text.rstrip())


def _after_broken_object(text: str, start: int) -> int:
    """The next place to look: another object, or behind the closing brace, whichever comes first."""
    places = [place for place in (text.find("{", start + 1), text.find("}", start + 1)) if place >= 0]
    return min(places, default=len(text))
