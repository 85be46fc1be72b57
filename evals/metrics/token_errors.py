"""Insertions, deletions and substitutions between two token lists, through jiwer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import jiwer
from tliveomni_eval.evals.record import Counts

AlignmentSpan = tuple[str, int, int, int, int]
"""`(equal | substitute | insert | delete, reference start, reference end, hypothesis start, hypothesis end)`."""


@dataclass(frozen=True, slots=True)
class TokenErrors:
    """Errors of one hypothesis and the alignment they come from.

    Attributes:
        substitutions: Tokens read as another one.
        deletions: Reference tokens without a counterpart.
        insertions: Hypothesis tokens without a counterpart.
        reference_length: Tokens of the reference.
        alignment: Spans that cover both token lists in order; ends excluded.
    """

    substitutions: int
    deletions: int
    insertions: int
    reference_length: int
    alignment: tuple[AlignmentSpan, ...]

    @property
    def counts(self) -> Counts:
        """Errors over reference length. With an empty reference the errors count and the rate is undefined."""
        return Counts(self.substitutions + self.deletions + self.insertions, self.reference_length)

    def pairs(self) -> Iterator[tuple[int | None, int | None]]:
        """Aligned positions `(reference, hypothesis)`; None marks an insertion or a deletion."""
        for _, start, end, read_start, read_end in self.alignment:
            width = max(end - start, read_end - read_start)
            for offset in range(width):
                yield (
                    start + offset if start + offset < end else None,
                    read_start + offset if read_start + offset < read_end else None,
                )


def token_errors(reference: Sequence[str], hypothesis: Sequence[str]) -> TokenErrors:
    """Align two token lists at the least number of errors (jiwer's `process_words`).

    Where this differs from jiwer on purpose: with an empty reference jiwer 4 reports the number of insertions as the
    rate; here the insertions count as errors over a length of 0, so that a pooled rate stays errors over length.

    Args:
        reference: Tokens without white space in them.
        hypothesis: Likewise.
    """
    output = jiwer.process_words(
        [" ".join(reference)],
        [" ".join(hypothesis)],
        reference_transform=_AS_TOKENS,
        hypothesis_transform=_AS_TOKENS,
    )
    spans = tuple(
        (chunk.type, chunk.ref_start_idx, chunk.ref_end_idx, chunk.hyp_start_idx, chunk.hyp_end_idx)
        for chunk in output.alignments[0]
    )
    return TokenErrors(output.substitutions, output.deletions, output.insertions, len(reference), spans)


_AS_TOKENS = jiwer.Compose([jiwer.ReduceToListOfListOfWords()])
