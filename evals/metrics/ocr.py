"""OCR of a live-stream frame: one field (price, SKU, name, promotion or table) read against its reference.

Headline is `field_exact`; beside it stand edit similarity, ANLS and, for tables, TEDS. What makes a field exact:

- `price`: the same amount as a decimal number, and no contradicting currency (`price.py`).
- `sku`: the same characters, after white space and wrapping (fence, quotes, emphasis) around the whole are removed.
- `name`, `promo`: the same characters after full-width forms and white space are folded (`text/width.py`).
- `table`: the same cells in the same rows with the same spans, each compared as a name is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tliveomni_eval.evals.metrics.anls import anls
from tliveomni_eval.evals.metrics.edit_similarity import edit_similarity, edit_spans
from tliveomni_eval.evals.metrics.price import find_prices, single_price
from tliveomni_eval.evals.metrics.table import MAX_TABLE_NODES, Table, parse_table, simplified
from tliveomni_eval.evals.metrics.teds import teds
from tliveomni_eval.evals.record import Counts, Status
from tliveomni_eval.evals.text.width import fold_spaces, fold_width
from tliveomni_eval.evals.text.wrapping import after_reasoning, unwrap

OcrField = Literal["price", "sku", "name", "promo", "table"]
OCR_FIELDS: tuple[OcrField, ...] = get_args(OcrField)

MAX_OUTPUT_CHARS = 4_096
"""An output longer than this (stripped, in code points) is cut for scoring and its status is `truncated`."""
MAX_TABLE_CHARS = 16_384
"""The same for a table."""
_DRAWN_CHARS = 400


@dataclass(frozen=True, slots=True)
class OcrScore:
    """Counts of one sample; every denominator is 1.

    Attributes:
        field_exact: 1 if the field was read exactly.
        edit_similarity: Normalised edit similarity in 0..1 of the unwrapped texts.
        anls: 0, or a similarity in 0.5..1.
        teds: Tree-edit-distance similarity in 0..1; None unless the field is a table.
        status: See `record.Status`. An output without anything of the declared format is `unparsed`.
        detail: `field`, `reference` and `hypothesis` as they were compared, `edits` between them, and what was parsed.
    """

    field_exact: Counts
    edit_similarity: Counts
    anls: Counts
    teds: Counts | None
    status: Status
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, Counts]:
        """Metric name to counts, those that apply to the field."""
        counts = {"field_exact": self.field_exact, "edit_similarity": self.edit_similarity, "anls": self.anls}
        return counts if self.teds is None else counts | {"teds": self.teds}


@dataclass(frozen=True, slots=True)
class _FieldReading:
    """What a field comparison found: whether it is exact, whether it could be parsed at all, and its details."""

    exact: bool
    parsed: bool = True
    truncated: bool = False
    teds: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)


def score_ocr(reference: str, hypothesis: str | None, field: OcrField) -> OcrScore:
    """Score one field.

    Args:
        reference: What stands in the image.
        hypothesis: The output of the model, any text at all; None where the request failed. Of an output with a
            reasoning block, what follows the block is the answer.
        field: Which comparison makes the field exact.

    Raises:
        ValueError: If the field is unknown or the reference is none of its kind (a fault of the data, not of the
            model).
    """
    if field not in OCR_FIELDS:
        raise ValueError(f"unknown OCR field {field!r}: expected one of {', '.join(OCR_FIELDS)}")
    if not reference.strip():
        raise ValueError(f"the reference of a {field} field must not be empty, got {reference!r}")
    output = after_reasoning(hypothesis or "").strip()
    limit = MAX_TABLE_CHARS if field == "table" else MAX_OUTPUT_CHARS
    cut = len(output) > limit
    right, read = unwrap(reference), unwrap(output[:limit])
    reading = _COMPARISONS[field](reference, output[:limit])
    right_folded, read_folded = fold_width(right), fold_width(read)
    status: Status = "ok"
    if hypothesis is None:
        status = "error"
    elif not read:
        status = "empty"
    elif cut or reading.truncated:
        status = "truncated"
    elif not reading.parsed:
        status = "unparsed"
    detail: dict[str, Any] = {
        "field": field,
        "reference": right_folded[:_DRAWN_CHARS],
        "hypothesis": read_folded[:_DRAWN_CHARS],
        "edits": edit_spans(right_folded[:_DRAWN_CHARS], read_folded[:_DRAWN_CHARS]),
        **reading.detail,
    }
    if cut:
        detail["cut_at_chars"] = limit
    return OcrScore(
        field_exact=Counts(float(reading.exact), 1),
        edit_similarity=Counts(edit_similarity(right_folded, read_folded), 1),
        anls=Counts(anls([right_folded], read_folded), 1),
        teds=None if reading.teds is None else Counts(reading.teds, 1),
        status=status,
        detail=detail,
    )


def _compare_price(reference: str, hypothesis: str) -> _FieldReading:
    right = single_price(reference)
    if right is None:
        raise ValueError(f"the reference of a price field must name one price, got {reference!r}")
    found = find_prices(hypothesis)
    read = single_price(hypothesis)
    return _FieldReading(
        exact=read is not None and right.matches(read),
        parsed=bool(found),
        detail={"reference_price": str(right), "hypothesis_prices": [str(price)[:40] for price in found[:8]]},
    )


def _compare_sku(reference: str, hypothesis: str) -> _FieldReading:
    return _FieldReading(exact=unwrap(reference) == unwrap(hypothesis))


def _compare_text(reference: str, hypothesis: str) -> _FieldReading:
    return _FieldReading(
        exact=fold_spaces(fold_width(unwrap(reference))) == fold_spaces(fold_width(unwrap(hypothesis)))
    )


def _compare_table(reference: str, hypothesis: str) -> _FieldReading:
    right = parse_table(reference)
    if right is None or right.truncated:
        problem = "holds no table" if right is None else f"has more than {MAX_TABLE_NODES} nodes"
        raise ValueError(f"the reference of a table field {problem}: {reference[:80]!r}")
    read = parse_table(hypothesis)
    if read is None:
        return _FieldReading(exact=False, parsed=False, teds=0.0, detail={"reference_rows": right.rows()})
    plain_right, plain_read = simplified(right), simplified(read)
    both_html = right.markup == read.markup == "html"
    return _FieldReading(
        exact=_cells(plain_right) == _cells(plain_read),
        truncated=read.truncated,
        teds=teds(right, read) if both_html else teds(plain_right, plain_read),
        detail={"reference_rows": plain_right.rows(), "hypothesis_rows": plain_read.rows()},
    )


def _cells(table: Table) -> list[list[tuple[int, int, tuple[str, ...]]]]:
    return [[(cell.colspan, cell.rowspan, cell.content) for cell in row.children] for row in table.root.children]


_COMPARISONS: dict[OcrField, Callable[[str, str], _FieldReading]] = {
    "price": _compare_price,
    "sku": _compare_sku,
    "name": _compare_text,
    "promo": _compare_text,
    "table": _compare_table,
}
