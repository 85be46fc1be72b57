"""Speaker-labelled turns, and the parser of the declared output format of diarization.

Declared is a list of turns with speaker, start, end and text. Read are a JSON list (also inside of an object, a code
fence or prose, and one that breaks off) of `{"speaker", "start", "end", "text"}`, and lines such as
`[0.0-3.2] S1: 文本`, `S1 (0.0-3.2): 文本` or `[00:12 → 00:15] Speaker 1：文本`. Times are seconds, or `mm:ss`, or
`hh:mm:ss`, never milliseconds. A turn without a speaker or without both times is not one; a turn whose times are
negative, reversed or no numbers is dropped and counted as invalid, so that its words are missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tliveomni_eval.evals.metrics.embedded_json import find_json
from tliveomni_eval.evals.text.width import fold_width

MAX_TURNS = 400
"""Turns of an output that are scored; twelve minutes of dialogue have about 200."""

_TIME = r"(?:[0-9]{1,2}:)?[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?|-?[0-9]+(?:\.[0-9]+)?"
_SPAN = rf"(?P<start>{_TIME})[ ]?(?:s|秒)?[ ]?(?:-->|->|→|[-–—~～,至到]|to)[ ]?(?P<end>{_TIME})[ ]?(?:s|秒)?"
_SPEAKER = r"(?P<speaker>[^\s:\[\]()<>{}\"]{1,32}(?:[ ][0-9A-Za-z]{1,3})?)"
_LINES = (
    re.compile(
        rf"[-*•\s]*[\[(<【]?[ ]?{_SPAN}[ ]?[\])>】]?[ ]?[:,]?[ ]?[\[(【]?{_SPEAKER}[\])】]?[ ]?:[ ]?(?P<text>.*)"
    ),
    re.compile(
        rf"[-*•\s]*[\[(【]?{_SPEAKER}[\])】]?[ ]?[:,]?[ ]?[\[(<【][ ]?{_SPAN}[ ]?[\])>】][ ]?:?[ ]?(?P<text>.*)"
    ),
)
_START_KEYS = ("start", "start_time", "begin")
_END_KEYS = ("end", "end_time")
_MAX_LINE_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said without another turn of the same speaker in between.

    Attributes:
        speaker: Label, unique within a recording; not empty.
        start: Seconds from the beginning of the recording, at least 0.
        end: Seconds, at least `start`.
        text: The words.
    """

    speaker: str
    start: float
    end: float
    text: str

    def __post_init__(self) -> None:
        if not self.speaker:
            raise ValueError(f"a turn needs a speaker, got {self.speaker!r}")
        if not (math.isfinite(self.start) and math.isfinite(self.end) and 0 <= self.start <= self.end):
            raise ValueError(f"a turn needs 0 <= start <= end in seconds, got start={self.start!r}, end={self.end!r}")


@dataclass(frozen=True, slots=True)
class ParsedTurns:
    """The turns of an output.

    Attributes:
        turns: At most `MAX_TURNS`, in the order of the output.
        invalid: Turns that were dropped because their times or speaker cannot be.
        incomplete: Whether the output broke off inside of a turn or had more than `MAX_TURNS`.
    """

    turns: tuple[Turn, ...]
    invalid: int
    incomplete: bool


def parse_turns(text: str) -> ParsedTurns:
    """Read the turns of an output: its JSON if that holds any turn, else its lines.

    Args:
        text: Any text, at most some ten thousand characters (the scorer cuts it).
    """
    found = find_json(text)
    candidates = [_from_json(item) for item in _objects(found.values)]
    recognised = [turn for turn in candidates if turn != "no turn"]
    incomplete = found.incomplete
    if not recognised:
        recognised, incomplete = list(_from_lines(text)), False
    turns = tuple(turn for turn in recognised if isinstance(turn, Turn))
    invalid = sum(turn == "invalid" for turn in recognised)
    return ParsedTurns(turns[:MAX_TURNS], invalid, incomplete or len(turns) > MAX_TURNS)


def _objects(values: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """The JSON objects that could be turns: at the top, in a list, or in a list inside of an object."""
    for value in values:
        if isinstance(value, list):
            yield from (item for item in value if isinstance(item, dict))
        elif isinstance(value, dict):
            lists = [inner for inner in value.values() if isinstance(inner, list)]
            if "speaker" in value or not lists:
                yield value
            else:
                yield from (item for inner in lists for item in inner if isinstance(item, dict))


def _from_json(item: dict[str, Any]) -> Turn | str:
    start = next((item[key] for key in _START_KEYS if key in item), None)
    end = next((item[key] for key in _END_KEYS if key in item), None)
    if "speaker" not in item or start is None or end is None:
        return "no turn" if "speaker" not in item else "invalid"
    text = item.get("text", "")
    return _turn(item["speaker"], _seconds(start), _seconds(end), text if isinstance(text, str) else "")


def _from_lines(text: str) -> Iterator[Turn | str]:
    for line in fold_width(text).splitlines():
        for pattern in _LINES:
            if match := pattern.match(line[:_MAX_LINE_CHARS]):
                yield _turn(match["speaker"], _seconds(match["start"]), _seconds(match["end"]), match["text"])
                break


def _turn(speaker: Any, start: float, end: float, text: str) -> Turn | str:
    if isinstance(speaker, bool) or not isinstance(speaker, str | int):
        return "invalid"
    try:
        return Turn(str(speaker).strip()[:64], start, end, text)
    except ValueError:
        return "invalid"


def _seconds(value: Any) -> float:
    """Seconds of a number, `12.5`, `12.5s` or `01:02.5`; NaN for anything else."""
    if isinstance(value, bool):
        return math.nan
    if isinstance(value, int | float):
        return float(value) if abs(value) < 1e9 else math.nan
    if not isinstance(value, str) or not re.fullmatch(rf"(?:{_TIME})[ ]?(?:s|秒)?", value.strip()):
        return math.nan
    seconds = 0.0
    for part in value.strip().rstrip("s秒 ").split(":"):
        seconds = seconds * 60 + float(part)
    return seconds if seconds < 1e9 else math.nan
