"""The release matrix for other programs: CSV, Markdown, JSON and a badge."""

from __future__ import annotations

import csv
import html
import io
import unicodedata
from collections.abc import Callable, Mapping

from tliveomni_eval.evals.gate.printable import markdown_code
from tliveomni_eval.leaderboard.page_data import Cell, MatrixRow, PageOverview
from tliveomni_eval.leaderboard.page_model import VerdictName

_FORMULA_STARTS = ("=", "+", "-", "@", "|", "%")
_CSV_COLUMNS = (
    *("task", "attribute", "value", "baseline", "candidate", "verdict", "gated", "loss_kind", "budget"),
    *("loss", "low", "high", "baseline_quality", "candidate_quality", "samples", "clusters", "broke", "fixed", "note"),
)
_MARKS: Mapping[VerdictName, str] = {"PASS": "●", "BREACH": "▲", "INCONCLUSIVE": "◐", "MISSING": "✕"}
_COLOURS: Mapping[VerdictName, str] = {
    "PASS": "#21704b",
    "BREACH": "#b8301c",
    "INCONCLUSIVE": "#8f5d00",
    "MISSING": "#6b675d",
}


def as_csv(overview: PageOverview) -> str:
    """One line a slice and candidate; numbers with all digits.

    Text that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV_COLUMNS)
    for row in overview.rows:
        for candidate, cell in zip(overview.candidates, row.cells, strict=True):
            names = [row.task, row.attribute or "", row.value or "", overview.baseline.key, candidate.key]
            numbers = [row.budget, cell.loss, cell.low, cell.high, cell.baseline_quality, cell.candidate_quality]
            writer.writerow(
                [
                    *(_no_formula(name) for name in names),
                    cell.verdict,
                    str(cell.gated).lower(),
                    row.loss_kind,
                    *("" if number is None else repr(number) for number in numbers),
                    cell.n,
                    cell.clusters,
                    cell.broke,
                    cell.fixed,
                    _no_formula(cell.note),
                ]
            )
    return text.getvalue()


def as_markdown(overview: PageOverview) -> str:
    """A table for a pull request: one line a slice, one column a candidate."""
    heads = ["slice", "n", *(candidate.key for candidate in overview.candidates)]
    lines = [
        f"{_MARKS[overview.verdict]} **{overview.verdict}** against {markdown_code(overview.baseline.key)}",
        "",
        f"| {' | '.join(markdown_code(head) if place > 1 else head for place, head in enumerate(heads))} |",
        f"|---|--:|{'--:|' * len(overview.candidates)}",
    ]
    for row in overview.rows:
        n = max((cell.n for cell in row.cells), default=0)
        cells = " | ".join(_short(cell) for cell in row.cells)
        lines.append(f"| {markdown_code(_name(row))} | {n} | {cells} |")
    return "\n".join(lines) + "\n"


def as_json(overview: PageOverview) -> str:
    """The whole overview; `page_data.PageOverview` is its schema."""
    return overview.model_dump_json(indent=2) + "\n"


def as_badge(overview: PageOverview) -> str:
    """An SVG that says the verdict of the release and how many slices of how many pass."""
    cells = [cell for row in overview.rows for cell in row.cells if cell.gated]
    passed = sum(cell.verdict == "PASS" for cell in cells)
    label = "quantization gate"
    said = f"{overview.verdict.lower()} · {passed}/{len(cells)} slices"
    left, right = 8 + 6.6 * len(label), 8 + 6.6 * len(said)
    title = html.escape(f"{label}: {said}")
    size = f'width="{left + right:.0f}" height="20"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}">
<title>{title}</title>
<clipPath id="round"><rect {size} rx="3"/></clipPath>
<g clip-path="url(#round)" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff">
<rect width="{left:.0f}" height="20" fill="#45433d"/>
<rect x="{left:.0f}" width="{right:.0f}" height="20" fill="{_COLOURS[overview.verdict]}"/>
<text x="{left / 2:.0f}" y="14" text-anchor="middle">{label}</text>
<text x="{left + right / 2:.0f}" y="14" text-anchor="middle">{html.escape(said)}</text>
</g>
</svg>
"""


EXPORTS: Mapping[str, Callable[[PageOverview], str]] = {
    ".csv": as_csv,
    ".md": as_markdown,
    ".json": as_json,
    ".svg": as_badge,
}
"""File suffix to what writes it."""


def _name(row: MatrixRow) -> str:
    return row.task if row.attribute is None else f"{row.task} {row.attribute}={row.value}"


def _short(cell: Cell) -> str:
    mark = _MARKS[cell.verdict]
    if cell.loss is None:
        return f"{mark} –"
    if cell.low is None or cell.high is None:
        return f"{mark} {cell.loss:.1%}"
    return f"{mark} {cell.loss:.1%} ({cell.low:.1%} … {cell.high:.1%})"


def _no_formula(text: str) -> str:
    # Spreadsheets skip leading blanks, and some of them read full-width signs as the ASCII ones.
    # A control character is written as its escape: a bare carriage return would begin another row.
    text = "".join(repr(sign)[1:-1] if unicodedata.category(sign) == "Cc" else sign for sign in text)
    start = unicodedata.normalize("NFKC", text).lstrip(" \u200b\ufeff")
    return f"'{text}" if start.startswith(_FORMULA_STARTS) else text
