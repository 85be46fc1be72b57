"""Questions that a picture does not answer, each beside a twin that it does.

Twins are asked about the same picture in the same words, so neither "always answer" nor "never answer" helps: both have
a balanced accuracy of one half at most. Balanced accuracy is the mean of the accuracies on answerable and on
unanswerable questions (Brodersen et al. 2010, "The balanced accuracy and its posterior distribution").

On whole pairs it equals the plain share of right answers, because both classes are equally large; so it stays a sum of
counts, on every slice and bootstrap replicate that takes twins together (they share a cluster).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.price import find_prices, single_price
from tliveomni_eval.evals.metrics.sample_score import SampleScore
from tliveomni_eval.evals.record import Counts

Answered = Literal["value", "refusal"]

_REFUSAL = re.compile(
    r"\b(?:unclear|uncertain|unknown|unreadable|illegible|unanswerable|not\s+(?:sure|certain|clear|known|shown|visible|"
    r"displayed|listed|given|provided|available|specified|stated|present|possible|enough|in\s+the\s+(?:image|picture))"
    r"|(?:isn|aren|doesn|don|won|wouldn)['’]?t\s+(?:\w+\s+){0,2}?(?:shown|visible|displayed|listed|given|know|show|appear)"
    r"|(?:cannot|can['’]?t|can\s+not|could\s+not|couldn['’]?t|unable\s+to|impossible\s+to)\s+(?:be\s+)?(?:\w+ly\s+)?"
    r"(?:determined?|tell|told|say|answer(?:ed)?|know|known|see|seen|read|judge|confirm|identify|find|found)"
    r"|does\s+not\s+(?:show|appear|have|state|display|exist)|insufficient|hidden|covered|obscured|no\s+(?:price|tag|such)"
    r"|there\s+is\s+no|n/a)\b"
    r"|无法|不能(?:判断|确定|看出)|难以(?:判断|确定)|不确定|不清楚|不知道|未知|未(?:显示|标|提供|给出|出现)"
    r"|看不(?:出|到|清|见)|没有(?:显示|标|提供|给出|出现|价|该|这|找到|看到)|被(?:遮|挡|盖)|遮挡|图中没有|不存在",
    re.IGNORECASE,
)


def read_answer(text: str) -> Answered | None:
    """Whether an answer gives a value or says that it cannot be told.

    Args:
        text: An answer without reasoning block.

    Returns:
        None where it does neither, or both: "¥12, but I cannot tell" is no answer.
    """
    refuses, gives = _REFUSAL.search(text) is not None, bool(find_prices(text))
    if refuses == gives:
        return None
    return "refusal" if refuses else "value"


def score_answerability(reference: str | None, output: str | None) -> SampleScore:
    """Scores one price question.

    Args:
        reference: The price; None where the picture does not show it.
        output: The model's text, None when the request failed.

    Returns:
        Counts for `balanced_accuracy`; see the module for why a count is enough.

    Raises:
        ValueError: The reference is no price.
    """
    right = None if reference is None else single_price(reference)
    if reference is not None and right is None:
        raise ValueError(f"the reference must name one price, got {reference!r}")
    prepared = read_output(output, keep="end")
    answered = read_answer(prepared.text) if prepared.text else None
    read = single_price(prepared.text) if answered == "value" else None
    hit = answered == "refusal" if right is None else read is not None and right.matches(read)
    detail = {
        "answerable": right is not None,
        "reference": reference,
        "answered": answered,
        "read": None if read is None else str(read),
    }
    return SampleScore(
        {"balanced_accuracy": Counts(float(hit), 1)}, prepared.status(parsed=answered is not None), detail
    )


def balanced_accuracy(answers: Iterable[tuple[bool, bool]]) -> float | None:
    """Mean of the accuracies on answerable and on unanswerable questions.

    Args:
        answers: Whether each question is answerable, and whether it was answered right.

    Returns:
        0..1; None where one of the two kinds is absent.
    """
    hits: dict[bool, list[bool]] = {True: [], False: []}
    for answerable, hit in answers:
        hits[answerable].append(hit)
    if not hits[True] or not hits[False]:
        return None
    return sum(sum(flags) / len(flags) for flags in hits.values()) / 2
