"""Selling points: which facts of a closed list a model extracts, one item a fact.

The declared form is a JSON array of texts; lines that each begin with a bullet or a number mean the same. Prose is
`unparsed`. An item states a fact where `fact.fact_similarity` reaches `FACT_SIMILARITY`, the item holds no number
beyond those of the fact, and is not much longer than it, so that an item that hedges states nothing. Items and facts
are matched one to one (Hungarian), and F1 = 2·matched / (items + facts), pooled over samples.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from tliveomni_eval.evals.metrics.embedded_json import find_json
from tliveomni_eval.evals.metrics.fact import FACT_SIMILARITY, Fact, fact_similarity, tokens
from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.sample_score import SampleScore
from tliveomni_eval.evals.record import Counts

MAX_POINTS = 60
"""Items that are read from one answer; no stream has half as many facts."""

_MAX_EXTRA_TOKENS = 6
_BULLET = re.compile(r"^\s*(?:[-*•·]|\d{1,2}[.)、](?!\d))\s*(\S.*)$")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.){1,400})"')


def parse_points(text: str) -> tuple[tuple[str, ...], bool, bool]:
    r"""Reads the items of an answer.

    Args:
        text: Text of a `ModelOutput`.

    Returns:
        At most `MAX_POINTS` items in the order stated; whether there is a list; whether it broke off.

    >>> parse_points('["aloe serum", "¥35"]')
    (('aloe serum', '¥35'), True, False)
    >>> parse_points("- aloe serum\n- ¥35")
    (('aloe serum', '¥35'), True, False)
    """
    found = find_json(text)
    lists = [value for value in found.values if isinstance(value, list)]
    items = [str(item) for value in lists for item in value if _is_item(item)]
    if found.incomplete and not items:
        items = _STRING.findall(text[text.find("[") :])
    if lists or items:
        return tuple(items[:MAX_POINTS]), True, found.incomplete
    lines = [line for line in text.splitlines() if line.strip()]
    bullets = [match[1] for line in lines if (match := _BULLET.match(line))]
    return tuple(bullets[:MAX_POINTS]), bool(bullets), False


def _is_item(item: Any) -> bool:
    return isinstance(item, str | int | float) and not isinstance(item, bool)


def score_selling_points(reference: Sequence[Fact], output: str | None) -> SampleScore:
    """Scores one answer.

    Args:
        reference: All the facts that the prompt asks for, at least one.
        output: The model's text, None when the request failed.

    Returns:
        Counts for `f1`, `recall` and `precision`; an answer without items has no precision.

    Raises:
        ValueError: The reference is empty.

    >>> score_selling_points([Fact("aloe serum"), Fact("¥35")], '["aloe serum", "¥36"]').counts["f1"]
    Counts(num=2, den=4)
    """
    if not reference:
        raise ValueError("selling points need at least one fact in their reference, got none")
    prepared = read_output(output)
    items, parsed, broke_off = parse_points(prepared.text)
    # The same point said twice is one point: a list of what there is has no order and no number.
    items = tuple(dict.fromkeys(items))
    pairs = _matched(reference, items)
    status = prepared.status(parsed)
    if status == "ok" and broke_off:
        status = "truncated"
    counts = {
        "f1": Counts(2 * len(pairs), len(items) + len(reference)),
        "recall": Counts(len(pairs), len(reference)),
        "precision": Counts(len(pairs), len(items)),
    }
    facts = [{"text": fact.text, "kind": fact.kind, "stated": number in pairs} for number, fact in enumerate(reference)]
    wrong = [item for number, item in enumerate(items) if number not in pairs.values()]
    return SampleScore(counts, status, {"facts": facts, "wrong_points": wrong})


def _matched(reference: Sequence[Fact], items: Sequence[str]) -> dict[int, int]:
    """Number of a fact to the number of the item that states it; as many as can be."""
    if not items:
        return {}
    similarity = np.array([[_stated(fact, tokens(item)) for item in items] for fact in reference])
    states = similarity >= FACT_SIMILARITY
    rows, columns = linear_sum_assignment(np.where(states, 1.0 + 0.001 * similarity, 0.0), maximize=True)
    return {int(row): int(column) for row, column in zip(rows, columns, strict=True) if states[row, column]}


def _stated(fact: Fact, said: tuple[str, ...]) -> float:
    longest = max(len(tokens(wording)) for wording in fact.wordings)
    if not said or len(said) > longest + _MAX_EXTRA_TOKENS:
        return 0.0
    if len(_numbers(said)) > len(_numbers(tokens(fact.text))):
        return 0.0
    return fact_similarity(fact, said)


def _numbers(row: Sequence[str]) -> list[str]:
    return [token for token in row if token[0].isdigit()]
