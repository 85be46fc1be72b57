"""Outputs that no scorer may stumble over: empty, huge, NUL, emoji, deep JSON, NaN, negative, reversed, broken off."""

from __future__ import annotations

import random
from collections.abc import Iterator

FRAGMENTS = (
    "", " ", "\x00", "\ud800", "🎉🧑🚀", "null", "NaN", "Infinity", "-1e999", "9" * 5000, "[", "]", "{", "}", '"', "'",
    "[[[[", '{"a":', "```json", "```", "<think>", "</think>", "<box>", "</box>", "(1,2),(3,4)", '"bbox_2d": [', "-5",
    "30 - 12", "99999999:99:99", "00:12", "12s", "从12秒到", "to", "between", "start", "end", "秒", "分", "答案是",
    "A", "(B)", "The answer is", "not", "\\boxed{", "無", "½", "١٢", "①", "\u202e", "\u0301" * 40, ",", ";", ".", ":",
    "\n", "\r", "\t", "1,2,3,4", "[1,2,3,4]", "[NaN,1,2,3]", "[30, 12]", '{"start": 30, "end": 12}', "<ref>", "¥129",
    '{"start": true, "end": [1]}', '{"bbox_2d":[9,9,1,1],"label":"x"}', '{"bbox_2d":[1,2,3],"label":3}', "1e5",
    "0.0.0", "--", "yes", "no", "是", '{"bbox_2d":[NaN,2,3,4]}', '[{"start":"12","end":null}]', "</answer>", "<answer>",
)  # fmt: skip


def hostile_outputs(count: int) -> Iterator[str | None]:
    """Yields failed requests, random characters and random sequences of the fragments, the same at every call."""
    rng = random.Random(20_240_501)
    for _ in range(count):
        kind = rng.random()
        if kind < 0.01:
            yield None
        elif kind < 0.2:
            yield "".join(
                chr(rng.choice((rng.randrange(128), rng.randrange(0x110000)))) for _ in range(rng.randrange(40))
            )
        else:
            separator = rng.choice(("", " ", ", "))
            yield separator.join(rng.choice(FRAGMENTS) for _ in range(rng.randrange(12)))


HUGE_OUTPUTS = (
    *(fragment * (1_000_000 // len(fragment)) for fragment in FRAGMENTS if fragment),
    "[" * 1_000_000,
    '{"a":' * 200_000,
    "[1," * 300_000,
    '{"bbox_2d": [1, 2, 3, 4], "label": "cup"}, ' * 25_000,
    "[" + "[12, 30], " * 100_000,
    "12 " * 300_000,
    "12 - " * 200_000,
    "start " * 160_000 + "12",
    "(1,2)," * 160_000,
    "The answer is " * 70_000,
    "A or B, " * 120_000,
    " " * 1_000_000,
    "\u0301\u0327" * 500_000,
)
"""About a megabyte each."""
