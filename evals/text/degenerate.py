"""Outputs that are no transcript: loops, and the prompt given back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

_MIN_REPEATS = 4
_MAX_PERIOD = 40
_MIN_SHARE = 0.5
_ECHO_TOKENS = 8


def repeated_share(tokens: Sequence[str]) -> float:
    """The share of a token list that its longest loop covers: a span of up to 40 tokens, said 4 times or more in a row.

    Returns:
        A share in 0..1, 0 where nothing is said 4 times in a row.
    """
    identity: dict[str, int] = {}
    codes = np.array([identity.setdefault(token, len(identity)) for token in tokens], dtype=np.int64)
    longest = 0
    for period in range(1, min(_MAX_PERIOD, len(tokens) // _MIN_REPEATS) + 1):
        differs = np.flatnonzero(codes[period:] != codes[:-period])
        borders = np.concatenate(([-1], differs, [len(tokens) - period]))
        run = int(np.diff(borders).max()) - 1
        if run >= period * (_MIN_REPEATS - 1):
            longest = max(longest, run + period)
    return longest / len(tokens) if tokens else 0.0


def is_repetitive(reference: Sequence[str], hypothesis: Sequence[str]) -> bool:
    """Whether at least half of the hypothesis is one loop, and the reference is not like that itself."""
    # A loop of four repeats that fills half of a text leaves at most 5/8 of its neighbouring pairs distinct.
    if len(set(pairwise(hypothesis))) > len(hypothesis) * 5 / 8:
        return False
    return repeated_share(hypothesis) >= _MIN_SHARE > repeated_share(reference)


def echoes(prompt: Sequence[str], reference: Sequence[str], hypothesis: Sequence[str]) -> bool:
    """Whether the hypothesis holds 8 tokens in a row of the prompt that the reference does not hold."""
    said = _windows(reference)
    return any(window not in said for window in _windows(prompt) & _windows(hypothesis))


def _windows(tokens: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(tokens[start : start + _ECHO_TOKENS]) for start in range(len(tokens) - _ECHO_TOKENS + 1)}
