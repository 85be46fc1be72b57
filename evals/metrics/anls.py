"""Average normalised Levenshtein similarity (ANLS) of one sample.

Source: Biten et al., "Scene Text Visual Question Answering" (ICCV 2019) and the ICDAR 2019 ST-VQA challenge.

Where this differs from code in use, on purpose:

- Lengths are those of the *normalised* texts (case folded, stripped, runs of white space as one space). lmms-eval
  0.7.3 divides by the raw length, so that padding a wrong answer with spaces makes it right.
- A similarity equal to the threshold counts, as in the evaluation code of the challenge; the paper's formula reads
  `NL < τ`.
- Two empty texts are equal: 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from tliveomni_eval.evals.metrics.edit_similarity import edit_similarity

ANLS_THRESHOLD = 0.5


def _comparable(text: str) -> str:
    return " ".join(text.casefold().split())


def anls(references: Sequence[str], hypothesis: str, threshold: float = ANLS_THRESHOLD) -> float:
    """The best similarity of `hypothesis` to one of `references`, 0 where it is below `threshold`.

    Args:
        references: Accepted answers, at least one.
        hypothesis: The answer of the model.
        threshold: τ in 0..1.

    Returns:
        A similarity: 0, or a value in `threshold`..1.

    Raises:
        ValueError: If there is no reference.
    """
    if not references:
        raise ValueError("anls needs at least one reference, got none")
    answer = _comparable(hypothesis)
    best = max(edit_similarity(_comparable(reference), answer) for reference in references)
    return best if best >= threshold else 0.0
