"""Normalised edit similarity of two texts, through rapidfuzz."""

from __future__ import annotations

from rapidfuzz.distance import Levenshtein

EditSpan = tuple[str, int, int, int, int]
"""`(operation, reference start, reference end, hypothesis start, hypothesis end)`, ends excluded."""


def edit_similarity(reference: str, hypothesis: str) -> float:
    """One minus the Levenshtein distance over the length of the longer text, in code points.

    This is one minus the normalised edit distance (NED) of the ICDAR text-reading challenges. Two empty texts are
    equal: 1.

    Returns:
        A similarity in 0..1, 1 for equal texts.
    """
    return float(Levenshtein.normalized_similarity(reference, hypothesis))


def edit_spans(reference: str, hypothesis: str, limit: int = 64) -> list[EditSpan]:
    """The spans in which `hypothesis` differs from `reference`, for drawing.

    Args:
        reference: The text that was to be read.
        hypothesis: The text that was read.
        limit: At most this many spans are returned, the first ones.
    """
    spans: list[EditSpan] = []
    for code in Levenshtein.opcodes(reference, hypothesis):
        if code.tag == "equal":
            continue
        if len(spans) == limit:
            break
        spans.append((str(code.tag), code.src_start, code.src_end, code.dest_start, code.dest_end))
    return spans
