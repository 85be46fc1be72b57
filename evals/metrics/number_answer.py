"""A single number as the answer: counting, and values read off a chart.

- exact: the number is the reference.
- relaxed: it is within 5 % of the reference, relative (ChartQA, Masry et al. 2022, after PlotQA), for charts.
- within one: it is off by at most 1, for counts.

The number may be written in digits, with thousands separators, a unit or a percent sign, or as an English or Chinese
number word. An answer that names several different numbers does not say which one it means and is `unparsed`, unless it
states one of them ("the answer is 4", "一共有4个", "= 4").
"""

from __future__ import annotations

import re
from decimal import Decimal

from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.sample_score import SampleScore
from tliveomni_eval.evals.record import Counts, Status
from tliveomni_eval.evals.text.spoken_numbers import chinese_numbers_to_digits, english_numbers_to_digits

RELAXED_SHARE = Decimal("0.05")

_NUMBER = r"(?<![\w.])(?<![0-9],)-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,18})(?:\.[0-9]{1,12})?(?![0-9]|[.,][0-9])"
_ANY = re.compile(_NUMBER, re.ASCII)
_STATED = re.compile(
    r"(?:\b(?:answer|total|count|value|number)\b[^0-9\n]{0,24}?\b(?:is|are|of)\b|=|\bthere\s+(?:are|is)|"
    r"答案(?:是|为)?|一共有?|总共有?|共有?|合计|数值(?:是|为)?|总数(?:是|为)?)\s*[:*]*\s*(" + _NUMBER + r")",
    re.IGNORECASE | re.ASCII,
)
_LIST_MARKER = re.compile(r"^[ \t]*[0-9]{1,2}[.)、][ \t]+", re.MULTILINE)


def read_number(text: str) -> Decimal | None:
    """The number that an answer gives.

    Args:
        text: An answer without reasoning block.

    Returns:
        The number; None where there is none, or several of which none is stated as the answer.

    >>> read_number("There are three mugs.")
    Decimal('3')
    >>> read_number("1,250 件")
    Decimal('1250')
    >>> read_number("2 red and 3 blue ones") is None
    True
    """
    digits = english_numbers_to_digits(chinese_numbers_to_digits(text.lower()))
    digits = _LIST_MARKER.sub("", digits.replace("*", "")) if "\n" in digits else digits.replace("*", "")
    found = {_decimal(match[0]) for match in _ANY.finditer(digits)}
    if len(found) == 1:
        return found.pop()
    stated = {_decimal(match[1]) for match in _STATED.finditer(digits)}
    return stated.pop() if len(stated) == 1 else None


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


def score_count(reference: str, output: str | None) -> SampleScore:
    """Scores a counted number.

    Args:
        reference: A whole number.
        output: The model's text, None when the request failed.

    Returns:
        Counts for `count_exact` and `within_one`.

    Raises:
        ValueError: The reference is no number.
    """
    right, read, status, detail = _read(reference, output)
    exact = read == right
    near = read is not None and abs(read - right) <= 1
    return SampleScore({"count_exact": Counts(float(exact), 1), "within_one": Counts(float(near), 1)}, status, detail)


def score_chart_value(reference: str, output: str | None) -> SampleScore:
    """Scores a value read off a chart.

    Args:
        reference: The value that the chart shows.
        output: The model's text, None when the request failed.

    Returns:
        Counts for `relaxed_accuracy` and `value_exact`.

    Raises:
        ValueError: The reference is no number.
    """
    right, read, status, detail = _read(reference, output)
    relaxed = read is not None and abs(read - right) <= RELAXED_SHARE * abs(right)
    counts = {"relaxed_accuracy": Counts(float(relaxed), 1), "value_exact": Counts(float(read == right), 1)}
    return SampleScore(counts, status, detail)


def _read(reference: str, output: str | None) -> tuple[Decimal, Decimal | None, Status, dict[str, str | None]]:
    right = read_number(reference)
    if right is None:
        raise ValueError(f"the reference must be one number, got {reference!r}")
    prepared = read_output(output, keep="end")
    read = read_number(prepared.text) if prepared.text else None
    detail = {"reference": str(right), "read": None if read is None else str(read)}
    return right, read, prepared.status(parsed=read is not None), detail
