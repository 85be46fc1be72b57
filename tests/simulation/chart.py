"""The simulation's results as one SVG: a column a metric, a row a question."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

Rows = Sequence[dict[str, Any]]
_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 190, 130, 70, 70, 28
_GATE, _RIVAL, _LIMIT = "#0b6e4f", "#c8553d", "#8a8a8a"


@dataclass(frozen=True)
class Panel:
    """One row of the chart.

    Attributes:
        title: What the row shows.
        gate: (rows of one metric and number of clusters) → the gate's value, or None.
        rival: The same for the paired t rule.
        limit: Where a line marks what is asked for; None for no line.
        low: Lowest value of the axis.
        high: Highest value of the axis.
    """

    title: str
    gate: Callable[[Rows], float | None]
    rival: Callable[[Rows], float | None]
    limit: float | None
    low: float
    high: float


def panels(budget: float) -> list[Panel]:
    """The rows: worst false PASS and BREACH at the budget, worst coverage, power at zero loss and 5 % flips."""

    def worst(field: str, pick: Callable[..., float], *, at_budget: bool) -> Callable[[Rows], float | None]:
        def value(rows: Rows) -> float | None:
            found = [row[field] for row in rows if not at_budget or row["loss"] == budget]
            return pick(found) if found else None

        return value

    def power(field: str) -> Callable[[Rows], float | None]:
        return lambda rows: next((row[field] for row in rows if row["loss"] == 0 and row["flip_rate"] == 0.05), None)

    false_pass = (worst(field, max, at_budget=True) for field in ("passed", "paired_t_passed"))
    false_breach = (worst(field, max, at_budget=True) for field in ("breached", "paired_t_breached"))
    coverage = (worst(field, min, at_budget=False) for field in ("coverage", "paired_t_coverage"))
    return [
        Panel("false PASS at 1.5 % loss (worst flip rate)", *false_pass, limit=0.05, low=0, high=0.5),
        Panel("false BREACH at 1.5 % loss (worst flip rate)", *false_breach, limit=0.05, low=0, high=0.1),
        Panel("interval coverage (worst loss and flip rate)", *coverage, limit=0.93, low=0.5, high=1),
        Panel("PASS at zero loss, 5 % flips", power("passed"), power("paired_t_passed"), limit=None, low=0, high=1),
    ]


def chart(cells: Rows, budget: float) -> str:
    """The SVG document."""
    metrics = list(dict.fromkeys(row["metric"] for row in cells))
    rows = panels(budget)
    width = _LEFT + len(metrics) * (_WIDTH + _GAP)
    height = _TOP + len(rows) * (_HEIGHT + 2 * _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11" role="img">',
        "<title>Error rates, coverage and power of the release gate</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        _label(_LEFT, 20, "Release gate", _GATE, 14),
        _label(_LEFT + 110, 20, "paired t interval", _RIVAL, 14),
        _label(_LEFT + 240, 20, "asked for", _LIMIT, 14),
    ]
    for column, metric in enumerate(metrics):
        left = _LEFT + column * (_WIDTH + _GAP)
        parts.append(_label(left, 45, metric, "#222", 13))
        for index, panel in enumerate(rows):
            top = _TOP + index * (_HEIGHT + 2 * _GAP)
            of_metric = [row for row in cells if row["metric"] == metric]
            parts += _panel(panel, of_metric, left, top, first=column == 0)
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, cells: Rows, left: float, top: float, *, first: bool) -> list[str]:
    counts = sorted({row["clusters"] for row in cells})
    start, end = math.log(50), math.log(5000)

    def x(clusters: float) -> float:
        return left + (math.log(clusters) - start) / (end - start) * _WIDTH

    def y(value: float) -> float:
        share = (min(max(value, panel.low), panel.high) - panel.low) / (panel.high - panel.low)
        return top + _HEIGHT * (1 - share)

    parts = [f'<rect x="{left}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" fill="none" stroke="#ccc"/>']
    if first:
        parts.append(_label(left, top - 6, panel.title, "#222", 12))
        for value in (panel.low, (panel.low + panel.high) / 2, panel.high):
            parts.append(_label(left - 6, y(value) + 4, f"{value:.1%}", "#555", 10, anchor="end"))
    for clusters in (50, 200, 1000, 5000):
        parts.append(_label(x(clusters), top + _HEIGHT + 13, str(clusters), "#555", 10, anchor="middle"))
    if panel.limit is not None:
        line = y(panel.limit)
        parts.append(
            f'<line x1="{left}" x2="{left + _WIDTH}" y1="{line:.1f}" y2="{line:.1f}" stroke="{_LIMIT}" '
            'stroke-dasharray="4 3"/>'
        )
    for value_of, colour in ((panel.rival, _RIVAL), (panel.gate, _GATE)):
        points = [(n, value_of([row for row in cells if row["clusters"] == n])) for n in counts]
        places = [(x(n), y(value)) for n, value in points if value is not None]
        line_points = " ".join(f"{px:.1f},{py:.1f}" for px, py in places)
        parts.append(f'<polyline points="{line_points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.5" fill="{colour}"/>' for px, py in places]
    return parts


def _label(x: float, y: float, text: str, colour: str, size: int, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'
    )
