"""Accuracy of a short answer against ten annotators (VQA, Antol et al. 2015; VQAv2, Goyal et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence


def vqa_accuracy(answer: str, annotators: Sequence[str]) -> float:
    """min(1, agreeing annotators / 3), averaged over all subsets that leave one annotator out.

    Args:
        answer: The model's answer, normalised.
        annotators: Answers of the annotators, normalised alike; ten in the data set.

    Returns:
        0..1.

    Raises:
        ValueError: There is no annotator.

    >>> vqa_accuracy("blue", ["blue"] * 3 + ["green"] * 7)
    0.9
    >>> vqa_accuracy("blue", ["blue"] * 4 + ["green"] * 6)
    1.0
    """
    if not annotators:
        raise ValueError("an answer needs at least one annotator to be compared with")
    agreeing = sum(other == answer for other in annotators)
    scores = [min(1.0, (agreeing - (own == answer)) / 3) for own in annotators]
    return sum(scores) / len(scores)
