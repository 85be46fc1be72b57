"""What a scorer's detail says of an answer beyond its drawing: the option chosen, hotwords, offsets in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tliveomni_eval.evals.record import Status
from tliveomni_eval.leaderboard.task_page_data import ChoiceOption, Drawing, DrawnSpan, DrawnTurn, HotwordCount

_MOST_OPTIONS = 26
_MOST_HOTWORDS = 200
_LONGEST_CLOSED_ANSWER = 40

TimeOffset = tuple[float, float]
"""Seconds by which a predicted span begins and ends later than the reference's; negative where earlier."""


@dataclass(frozen=True, slots=True)
class OutputReading:
    """One answer as the slice view counts it.

    Attributes:
        status: Its status.
        confusions: Characters read differently.
        closed: Expected and read answer where both come from a closed set; the read one is empty where there is none.
        hotwords: Hotwords of the sample.
        offsets: One for each reference span or turn that something predicted overlaps.
    """

    status: Status
    confusions: Counter[tuple[str, str]] = field(default_factory=Counter)
    closed: tuple[str, str] | None = None
    hotwords: Sequence[HotwordCount] = ()
    offsets: Sequence[TimeOffset] = ()


def choice_options(detail: Mapping[str, Any]) -> list[ChoiceOption]:
    """Options of a multiple-choice question, in the order presented; empty where the detail has none."""
    options = detail.get("options")
    if not isinstance(options, Mapping):
        return []
    right = detail.get("answer")
    return [
        ChoiceOption(letter=str(letter), text=str(text), right=letter == right)
        for letter, text in list(options.items())[:_MOST_OPTIONS]
    ]


def chosen_option(detail: Mapping[str, Any]) -> str | None:
    """Letter of the option chosen, where the detail says so."""
    chosen = detail.get("chosen")
    return chosen if isinstance(chosen, str) and "options" in detail else None


def closed_answer(detail: Mapping[str, Any]) -> tuple[str, str] | None:
    """Expected and read answer of a question whose answers are few: an option, a number, one of the names allowed.

    >>> closed_answer({"options": {"A": "mug", "B": "cap"}, "answer": "A", "chosen": None})
    ('A', '')
    >>> closed_answer({"reference": "3", "read": "4"})
    ('3', '4')
    """
    expected, read = ("answer", "chosen") if "options" in detail else ("reference", "read")
    if read not in detail or not isinstance(detail.get(expected), str):
        return None
    answer = detail[read]
    pair = (str(detail[expected]), "" if answer is None else str(answer))
    return pair if max(map(len, pair)) <= _LONGEST_CLOSED_ANSWER else None


def hotword_counts(detail: Mapping[str, Any]) -> list[HotwordCount]:
    """`hotwords` of the detail: a list of [word, times said, times written]; entries of another form are left out."""
    entries = detail.get("hotwords")
    return [
        HotwordCount(word=entry[0], said=entry[1], written=entry[2])
        for entry in (entries[:_MOST_HOTWORDS] if isinstance(entries, list) else [])
        if isinstance(entry, list)
        and len(entry) == 3
        and isinstance(entry[0], str)
        and all(isinstance(count, int) and count >= 0 for count in entry[1:])
    ]


def time_offsets(reference: Drawing | None, predicted: Drawing | None) -> list[TimeOffset]:
    """Pairs each reference span or turn with the prediction that overlaps it most; turns only within one speaker."""
    if reference is None or predicted is None:
        return []
    pairs: list[tuple[DrawnSpan | DrawnTurn, Sequence[DrawnSpan | DrawnTurn]]] = [
        (span, predicted.spans) for span in reference.spans
    ]
    pairs += [(turn, [said for said in predicted.turns if said.matched == turn.matched]) for turn in reference.turns]
    offsets = []
    for right, candidates in pairs:
        best = max(candidates, key=lambda part: _overlap(right, part), default=None)
        if best is not None and _overlap(right, best) > 0:
            offsets.append((best.start - right.start, best.end - right.end))
    return offsets


def _overlap(one: DrawnSpan | DrawnTurn, other: DrawnSpan | DrawnTurn) -> float:
    return min(one.end, other.end) - max(one.start, other.start)
