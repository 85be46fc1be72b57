"""Character alignment of an answer with its reference, and the confusions that a set of alignments shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rapidfuzz.distance import Levenshtein
from tliveomni_eval.leaderboard.slice_data import Confusion
from tliveomni_eval.leaderboard.task_page_data import EditTag

LONGEST_ALIGNED = 4_000
"""Longer texts are shown without marks: alignment is quadratic, and nobody reads such a diff by character."""

_TAGS: dict[str, EditTag] = {"equal": "=", "replace": "r", "delete": "d", "insert": "i"}

Edits = list[tuple[EditTag, int, int]]


def align(reference: str, output: str) -> Edits:
    """Aligns two texts with the fewest edits (Levenshtein).

    Args:
        reference: Expected text.
        output: Text to compare.

    Returns:
        Steps (tag, length in the reference, length in the output) that cover both texts, lengths in code points;
        empty where the texts are equal or one is longer than `LONGEST_ALIGNED`.

    >>> align("¥18.9", "¥10.9")
    [('=', 2, 2), ('r', 1, 1), ('=', 2, 2)]
    """
    if reference == output or max(len(reference), len(output)) > LONGEST_ALIGNED:
        return []
    return [
        (_TAGS[step.tag], step.src_end - step.src_start, step.dest_end - step.dest_start)
        for step in Levenshtein.opcodes(reference, output)
    ]


def character_confusions(reference: str, output: str, edits: Edits) -> Counter[tuple[str, str]]:
    """Counts single characters that were replaced, lost or added.

    A replaced stretch of equal length is taken character by character.
    """
    found: Counter[tuple[str, str]] = Counter()
    at_reference = at_output = 0
    for tag, in_reference, in_output in edits:
        expected = reference[at_reference : at_reference + in_reference]
        got = output[at_output : at_output + in_output]
        at_reference += in_reference
        at_output += in_output
        if tag == "r":
            found.update(zip(expected, got, strict=True))
        elif tag == "d":
            found.update((character, "") for character in expected)
        elif tag == "i":
            found.update(("", character) for character in got)
    return found


def rank_confusions(
    baseline: Iterable[Counter[tuple[str, str]]], candidate: Iterable[Counter[tuple[str, str]]], limit: int = 24
) -> list[Confusion]:
    """Sums confusions over samples and ranks them: what grew most comes first, then what is most frequent.

    Args:
        baseline: Confusions of each sample in the baseline.
        candidate: The same for the candidate.
        limit: Number of confusions kept.
    """
    before = _total(baseline)
    after = _total(candidate)
    ranked = sorted(
        before.keys() | after.keys(),
        key=lambda pair: (before[pair] - after[pair], pair[0] == "" or pair[1] == "", -after[pair], pair),
    )
    return [
        Confusion(reference=expected, output=got, baseline=before[expected, got], candidate=after[expected, got])
        for expected, got in _without_unchanged(ranked, before, after)[:limit]
    ]


def _total(counters: Iterable[Counter[tuple[str, str]]]) -> Counter[tuple[str, str]]:
    total: Counter[tuple[str, str]] = Counter()
    for counter in counters:
        total.update(counter)
    return total


def _without_unchanged(
    pairs: Sequence[tuple[str, str]], before: Counter[tuple[str, str]], after: Counter[tuple[str, str]]
) -> list[tuple[str, str]]:
    return [pair for pair in pairs if before[pair] != after[pair]]
