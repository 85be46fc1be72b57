from __future__ import annotations

from decimal import Decimal

import pytest
from hostile_outputs import HUGE_OUTPUTS, hostile_outputs
from hypothesis import given
from hypothesis import strategies as st
from tliveomni_eval.evals.metrics.number_answer import read_number, score_chart_value, score_count
from tliveomni_eval.evals.record import STATUSES, Counts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", "3"),
        ("３", None),
        ("three", "3"),
        ("Three.", "3"),
        ("三个", "3"),
        ("两个", "2"),
        ("一共有12个。", "12"),
        ("图中有十二个", "12"),
        ("There are 3 mugs.", "3"),
        ("12 (twelve)", "12"),
        ("**7**", "7"),
        ("I see 2 red and 3 blue, so the total is 5", "5"),
        ("1. mug\n2. cup\nTotal: there are 2", "2"),
        ("1,250", "1250"),
        ("35%", "35"),
        ("-4", "-4"),
        ("35.0", "35.0"),
        ("2 or 3", None),
        ("2,3", None),
        ("many", None),
        ("1.2.3", None),
        ("A12B", None),
    ],
)
def test_one_number_is_read_and_several_are_not_guessed_at(text: str, expected: str | None) -> None:
    assert read_number(text) == (None if expected is None else Decimal(expected))


def test_counts() -> None:
    assert score_count("4", "４").counts == {"count_exact": Counts(1, 1), "within_one": Counts(1, 1)}
    assert score_count("4", "five").counts == {"count_exact": Counts(0, 1), "within_one": Counts(1, 1)}
    assert score_count("4", "6").counts["within_one"] == Counts(0, 1)
    assert score_count("4", "4.0").counts["count_exact"] == Counts(1, 1)


@pytest.mark.parametrize(
    ("reference", "output", "relaxed"),
    [("100", "95", 1), ("100", "105", 1), ("100", "94.9", 0), ("100", "105.1", 0), ("7", "7", 1), ("7", "8", 0)],
)
def test_a_chart_value_within_five_percent_is_right(reference: str, output: str, relaxed: int) -> None:
    assert score_chart_value(reference, output).counts["relaxed_accuracy"] == Counts(relaxed, 1)


@given(value=st.integers(0, 10**9), unit=st.sampled_from(["", "%", " pieces", "个", "件", "。", "."]))
def test_a_number_with_any_unit_is_exact(value: int, unit: str) -> None:
    for written in (str(value), f"{value:,}"):
        assert score_chart_value(str(value), written + unit).counts["value_exact"].num == 1


def test_statuses() -> None:
    assert [score_count("4", output).status for output in (None, "", "no idea", "4")] == [
        "error",
        "empty",
        "unparsed",
        "ok",
    ]
    with pytest.raises(ValueError, match="'some'"):
        score_count("some", "4")


def test_any_output_is_scored() -> None:
    for output in hostile_outputs(3000):
        score = score_count("4", output)
        assert score.status in STATUSES
        assert score.counts["count_exact"].num in (0, 1)


@pytest.mark.parametrize("output", HUGE_OUTPUTS)
def test_huge_outputs_are_scored(output: str) -> None:
    assert score_chart_value("4", output).status in STATUSES
