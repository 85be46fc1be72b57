"""How hotwords fared: error rates on and off them, and precision, recall and F1 of the words themselves.

Biased and unbiased error rate follow the deep-bias scorer of fbai-speech (Le et al., "Contextualized streaming
end-to-end speech recognition with trie-based deep biasing and shallow fusion", Interspeech 2021): a substitution or
deletion belongs to its reference token, an insertion to the inserted token. There a hotword is one word and a token
is biased if it is in the list. Here a hotword may be several tokens (a Chinese name), so a token is biased where it
lies inside of an occurrence of a hotword; for one-token hotwords the two are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tliveomni_eval.evals.metrics.token_errors import TokenErrors
from tliveomni_eval.evals.record import Counts

_BORDER = "\n "

Hotword = tuple[str, ...]
"""A hotword as the tokens it is made of."""


@dataclass(frozen=True, slots=True)
class BiasedErrors:
    """Errors over reference tokens, split by whether the token lies inside of a hotword."""

    biased: Counts
    unbiased: Counts


@dataclass(frozen=True, slots=True)
class HotwordHits:
    """Occurrences of hotwords, clipped: of a word said r times and written h times, min(r, h) are right.

    Attributes:
        right: Occurrences said and written.
        missed: Occurrences said and not written.
        invented: Occurrences written and not said; for a hotword that is absent all of them.
    """

    right: int
    missed: int
    invented: int

    @property
    def precision(self) -> Counts:
        """Right over written."""
        return Counts(self.right, self.right + self.invented)

    @property
    def recall(self) -> Counts:
        """Right over said."""
        return Counts(self.right, self.right + self.missed)

    @property
    def f1(self) -> Counts:
        """2·right over said and written together: the harmonic mean of precision and recall, as counts that add."""
        return Counts(2 * self.right, 2 * self.right + self.missed + self.invented)


def biased_errors(
    reference: Sequence[str], hypothesis: Sequence[str], errors: TokenErrors, hotwords: Sequence[Hotword]
) -> BiasedErrors:
    """Split the errors of an alignment by hotword.

    Args:
        reference: Reference tokens.
        hypothesis: Hypothesis tokens.
        errors: Their alignment.
        hotwords: The bias list, absent ones included.
    """
    biased_in_reference = _covered(reference, hotwords)
    biased_in_hypothesis = _covered(hypothesis, hotwords)
    wrong = [0, 0]
    length = [0, 0]
    for operation, start, end, read_start, read_end in errors.alignment:
        if operation == "insert":
            for position in range(read_start, read_end):
                wrong[biased_in_hypothesis[position]] += 1
            continue
        for position in range(start, end):
            length[biased_in_reference[position]] += 1
            wrong[biased_in_reference[position]] += operation != "equal"
    return BiasedErrors(biased=Counts(wrong[1], length[1]), unbiased=Counts(wrong[0], length[0]))


def hotword_hits(reference: Sequence[str], hypothesis: Sequence[str], hotwords: Sequence[Hotword]) -> HotwordHits:
    """Count the occurrences of each hotword on both sides; each hotword is counted on its own, overlaps included."""
    right = missed = invented = 0
    pairs = zip(occurrences(reference, hotwords).values(), occurrences(hypothesis, hotwords).values(), strict=True)
    for said, written in pairs:
        right += min(said, written)
        missed += max(0, said - written)
        invented += max(0, written - said)
    return HotwordHits(right, missed, invented)


def occurrences(tokens: Sequence[str], hotwords: Sequence[Hotword]) -> dict[Hotword, int]:
    """How often each hotword occurs in a token list, without overlap with itself; in the order of the hotwords."""
    # As text with borders around each token, a hotword is found by one fast search and `art` is not in `cart`.
    text = f" {_BORDER.join(tokens)}\n"
    return {hotword: text.count(_bordered(hotword)) for hotword in hotwords}


@lru_cache(maxsize=16_384)
def _bordered(hotword: Hotword) -> str:
    return f" {_BORDER.join(hotword)}\n"


def _covered(tokens: Sequence[str], hotwords: Sequence[Hotword]) -> list[bool]:
    covered = [False] * len(tokens)
    by_first_token: dict[str, list[Hotword]] = {}
    for hotword in hotwords:
        by_first_token.setdefault(hotword[0], []).append(hotword)
    for start, token in enumerate(tokens):
        for hotword in by_first_token.get(token, ()):
            end = start + len(hotword)
            if tuple(tokens[start:end]) == hotword:
                covered[start:end] = [True] * len(hotword)
    return covered
