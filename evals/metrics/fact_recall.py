"""Fact recall of a caption: the share of the facts of a closed list that the caption states.

A caption is free text, so every text is one and nothing is `unparsed`. Only its first `MAX_CAPTION_TOKENS` tokens are
read, so that a caption that names everything there is gains little. What a caption says beyond the list is neither
rewarded nor punished, and a fact that it denies ("no mug") counts as stated.
"""

from __future__ import annotations

from collections.abc import Sequence

from tliveomni_eval.evals.metrics.fact import FACT_SIMILARITY, Fact, fact_similarity, tokens
from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.sample_score import SampleScore
from tliveomni_eval.evals.record import Counts

MAX_CAPTION_TOKENS = 300
"""Chinese characters or words that are read of one caption."""


def score_fact_recall(reference: Sequence[Fact], output: str | None) -> SampleScore:
    """Scores one caption.

    `fact_recall` is facts stated over facts, pooled over samples. `all_facts` is 1 where every fact is stated.

    Args:
        reference: At least one fact.
        output: The model's text, None when the request failed.

    Returns:
        Counts for `fact_recall` and `all_facts`.

    Raises:
        ValueError: The reference is empty.

    >>> facts = [Fact("red mug"), Fact("blue box")]
    >>> score_fact_recall(facts, "A host shows a red mug.").counts["fact_recall"]
    Counts(num=1, den=2)
    """
    if not reference:
        raise ValueError("a caption needs at least one fact in its reference, got none")
    prepared = read_output(output)
    said = tokens(prepared.text)
    read = said[:MAX_CAPTION_TOKENS]
    stated = [fact_similarity(fact, read) >= FACT_SIMILARITY for fact in reference]
    status = prepared.status(parsed=bool(said))
    if status == "ok" and len(said) > MAX_CAPTION_TOKENS:
        status = "truncated"
    counts = {
        "fact_recall": Counts(sum(stated), len(reference)),
        "all_facts": Counts(int(all(stated)), 1),
    }
    facts = [
        {"text": fact.text, "kind": fact.kind, "stated": found} for fact, found in zip(reference, stated, strict=True)
    ]
    return SampleScore(counts, status, {"facts": facts})
