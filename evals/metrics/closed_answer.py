"""An answer out of a closed list, given in words: which product stands left of the red mug?

Read by the words alone, never by a letter: the list is not lettered in the prompt. What names none of the list, or
several, is `unparsed` and wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from tliveomni_eval.evals.metrics.choice_answer import letters_of
from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.option_text import (
    equal_option,
    leading_option,
    named_option,
    normalise_answer_text,
    option_texts,
)
from tliveomni_eval.evals.metrics.sample_score import SampleScore
from tliveomni_eval.evals.record import Counts


def score_closed_answer(reference: str, output: str | None, allowed: Sequence[str]) -> SampleScore:
    """Scores one answer.

    Args:
        reference: The right answer, one of `allowed`.
        output: The model's text, None when the request failed.
        allowed: 2 to 26 different answers.

    Returns:
        Counts for `accuracy`.

    Raises:
        ValueError: The reference is not allowed, or there are too few or too many answers.
    """
    if reference not in allowed:
        raise ValueError(f"the reference {reference!r} is none of the allowed answers {list(allowed)}")
    if not 2 <= len(set(allowed)) == len(allowed) <= 26:
        raise ValueError(f"2 to 26 different allowed answers are needed, got {list(allowed)}")
    by_letter = letters_of(allowed)
    options = option_texts(by_letter)
    prepared = read_output(output, keep="end")
    text = normalise_answer_text(prepared.text)
    letter = None
    if text:
        letter = equal_option(text, options) or leading_option(text, options)
        if letter is None and len(text) <= options.searched_chars:
            letter = named_option(text, options)
    read = None if letter is None else by_letter[letter]
    detail = {"reference": reference, "read": read, "allowed": list(allowed)}
    return SampleScore(
        {"accuracy": Counts(float(read == reference), 1)}, prepared.status(parsed=read is not None), detail
    )
