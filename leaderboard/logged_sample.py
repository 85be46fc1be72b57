"""Reads what the page shows of one logged sample, whoever wrote the log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

LONGEST_TEXT = 20_000
"""Characters of one answer, prompt or reference that the page keeps; the rest is cut with a mark."""

_SHOWN_OTHERWISE = {"media", "edits", "logprobs", "turns", "mapping", "predicted", "reference", "hypothesis"}
_SHOWN_OTHERWISE |= {"options", "answer", "chosen", "hotwords"}
"""Parts of a scorer's detail that the page draws, or shows as text."""


def cut(text: str) -> str:
    """The text, cut at `LONGEST_TEXT` with a mark that says so."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}… [{len(text) - LONGEST_TEXT} more characters in the log]"


def answer_text(logged: Mapping[str, Any]) -> str:
    """The model's answer: `filtered_resps`, else `resps`."""
    answer = logged.get("filtered_resps", logged.get("resps", ""))
    while isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    return cut(_as_text(answer))


def prompt_text(logged: Mapping[str, Any]) -> str:
    """The prompt: lmms-eval's `input` (a text, or chat messages of which the texts are taken), else `arguments`."""
    prompt = logged.get("input", logged.get("arguments", ""))
    texts = _message_texts(prompt)
    return cut("\n".join(texts) if texts else _as_text(prompt))


def reference_text(logged: Mapping[str, Any]) -> str:
    """The expected answer."""
    return cut(_as_text(logged.get("target", "")))


def scorer_detail(logged: Mapping[str, Any]) -> Mapping[str, Any]:
    """The detail that the scorer logged; empty where it logged none."""
    record = logged.get("record")
    detail = record.get("detail") if isinstance(record, Mapping) else None
    return detail if isinstance(detail, Mapping) else {}


def shown_detail(logged: Mapping[str, Any]) -> dict[str, Any]:
    """The scorer's detail without what the page draws or shows as text."""
    return {key: value for key, value in scorer_detail(logged).items() if key not in _SHOWN_OTHERWISE}


def output_tokens(logged: Mapping[str, Any]) -> int | None:
    """Number of tokens of the answer, where logged."""
    counts = logged.get("token_counts")
    first = counts[0] if isinstance(counts, list) and counts else counts
    value = first.get("output_tokens") if isinstance(first, Mapping) else None
    return value if isinstance(value, int) and value >= 0 else None


def token_logprobs(logged: Mapping[str, Any]) -> list[tuple[str, float]]:
    """(token, log-probability) pairs of `record.detail.logprobs`, where logged."""
    pairs = scorer_detail(logged).get("logprobs")
    if not isinstance(pairs, list):
        return []
    return [
        (pair[0], float(pair[1]))
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], int | float)
    ]


def _message_texts(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        if isinstance(value.get("text"), str):
            return [value["text"]]
        return _message_texts(value.get("content"))
    if isinstance(value, list):
        return [text for item in value for text in _message_texts(item)]
    return []


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
