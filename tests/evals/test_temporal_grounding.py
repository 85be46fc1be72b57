from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pytest
from hostile_outputs import HUGE_OUTPUTS, hostile_outputs
from hypothesis import given
from hypothesis import strategies as st
from tliveomni_eval.evals.metrics.matching import matched_pairs
from tliveomni_eval.evals.metrics.temporal_grounding import (
    MAP_THRESHOLDS,
    Span,
    qvhighlights_average_precision,
    score_temporal_grounding,
    soda,
    temporal_iou,
)
from tliveomni_eval.evals.record import STATUSES


def rates(reference: list[Span], output: str | None, **options: bool) -> dict[str, float | None]:
    score = score_temporal_grounding(reference, output, **options)  # type: ignore[arg-type]
    return {name: counts.rate for name, counts in score.counts.items()}


@pytest.mark.parametrize("reference", [[(12.0, 30.0)], [(12.0, 30.0), (40.0, 50.0)], []])
def test_the_reference_as_answer_scores_one(reference: list[Span]) -> None:
    assert set(rates(reference, json.dumps(reference), scored=True).values()) == {1.0}


@pytest.mark.parametrize("output", [None, "", "it is somewhere", "5 - 5", "30 - 12"])
@pytest.mark.parametrize("reference", [[(12.0, 30.0)], [(12.0, 30.0), (40.0, 50.0)], []])
def test_nothing_unreadable_empty_and_reversed_score_zero(reference: list[Span], output: str | None) -> None:
    assert set(rates(reference, output, scored=True).values()) == {0.0}


def test_thresholds_divide_the_iou() -> None:
    assert rates([(0.0, 10.0)], "0 - 6") == {
        "r1@0.3": 1.0, "r1@0.5": 1.0, "r1@0.7": 0.0, "miou": 0.6, "f1@0.3": 1.0, "f1@0.5": 1.0, "f1@0.7": 0.0,
    }  # fmt: skip


def test_several_segments_are_matched_one_to_one() -> None:
    twice = score_temporal_grounding([(0.0, 10.0), (20.0, 30.0)], "0-10s, 0-10s").counts["f1@0.5"]
    assert (twice.num, twice.den) == (2, 4)
    one_of_three = score_temporal_grounding([(0.0, 10.0)], "40-50s, 0-10s, 60-70s").counts
    assert one_of_three["f1@0.5"].rate == 0.5
    assert one_of_three["r1@0.5"].rate == 0.0


def test_the_surest_span_is_first_where_scores_are_asked_for() -> None:
    output = "[[40, 50, 0.2], [0, 10, 0.9]]"
    assert rates([(0.0, 10.0)], output, scored=True)["r1@0.7"] == 1.0
    assert rates([(0.0, 10.0)], "40-50s, 0-10s", scored=True)["map"] == pytest.approx(0.5)


def test_queries_without_answer_stay_in_the_denominator() -> None:
    named = score_temporal_grounding([], "3-4s, 5-6s")
    assert named.status == "ok"
    assert (named.counts["r1@0.5"].num, named.counts["r1@0.5"].den) == (0, 1)
    assert (named.counts["f1@0.5"].num, named.counts["f1@0.5"].den) == (0, 3)
    missed = score_temporal_grounding([(3.0, 4.0)], "无").counts
    assert (missed["miou"].num, missed["miou"].den) == (0, 1)


def test_status() -> None:
    def status(output: str | None) -> str:
        return score_temporal_grounding([(1.0, 2.0)], output).status

    assert status(None) == "error"
    assert status("  ") == "empty"
    assert status("soon") == "unparsed"
    assert status("1-2s") == "ok"
    assert status("[[1, 2], [3,") == "truncated"
    assert status("1-2s " * 10_000) == "truncated"


@pytest.mark.parametrize("span", [(5.0, 5.0), (6.0, 5.0), (float("nan"), 5.0), (1.0, float("inf"))])
def test_a_faulty_reference_is_refused(span: Span) -> None:
    with pytest.raises(ValueError, match="reference span"):
        score_temporal_grounding([span], "1-2s")


def qvhighlights_by_definition(reference: list[Span], predicted: list[tuple[float, float, float]]) -> list[float]:
    """The definition, written out without arrays: rank, match at the threshold, area under the precision envelope."""

    def iou(a: Span, b: Span) -> float:
        overlap = max(0.0, min(a[1], b[1]) - max(a[0], b[0]))
        return overlap / (a[1] - a[0] + b[1] - b[0] - overlap)

    ranked = sorted(predicted[:10], key=lambda span: -span[2])
    result = []
    for threshold in (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95):
        taken: set[int] = set()
        points = [(0.0, 0.0)]
        for rank, (start, end, _) in enumerate(ranked, start=1):
            free = [g for g in range(len(reference)) if g not in taken and iou((start, end), reference[g]) >= threshold]
            if free:
                taken.add(max(free, key=lambda g: iou((start, end), reference[g])))
            points.append((len(taken) / len(reference), len(taken) / rank))
        area = 0.0
        for i in range(1, len(points)):
            area += (points[i][0] - points[i - 1][0]) * max(precision for _, precision in points[i:])
        result.append(area)
    return result


def test_map_equals_the_qvhighlights_definition_on_500_random_queries() -> None:
    rng = random.Random(7)
    for _ in range(500):
        reference = []
        for _ in range(rng.randint(1, 5)):
            start = rng.uniform(0, 140)
            reference.append((start, start + rng.uniform(1, 60)))
        predicted = []
        for _ in range(rng.randint(0, 14)):
            near = rng.choice(reference)
            start = near[0] + rng.gauss(0, 4)
            predicted.append(
                (start, start + max(0.5, near[1] - near[0] + rng.gauss(0, 4)), rng.choice([0.1, 0.5, rng.random()]))
            )
        computed = qvhighlights_average_precision(reference, predicted)
        np.testing.assert_allclose(computed, qvhighlights_by_definition(reference, predicted), atol=1e-12)
        assert computed.shape == (len(MAP_THRESHOLDS),)


def test_matching_is_the_largest_possible_on_500_random_tables() -> None:
    rng = np.random.default_rng(3)
    for _ in range(500):
        iou = rng.random((rng.integers(1, 5), rng.integers(1, 5)))
        few, many = sorted(iou.shape)
        wide = iou if iou.shape[0] == few else iou.T
        best = max(
            sum(wide[row, column] >= 0.5 for row, column in enumerate(choice))
            for choice in itertools.permutations(range(many), few)
        )
        assert matched_pairs(iou, 0.5) == best


@given(st.lists(st.tuples(st.floats(0, 99), st.floats(0.01, 50)), min_size=1, max_size=4))
def test_iou_is_symmetric_bounded_and_one_on_itself(pairs: list[tuple[float, float]]) -> None:
    some = [(start, start + length) for start, length in pairs]
    iou = temporal_iou(some, some)
    assert np.allclose(iou, iou.T)
    assert np.allclose(np.diag(iou), 1)
    assert ((iou >= 0) & (iou <= 1 + 1e-12)).all()


def test_soda_keeps_the_order() -> None:
    assert soda([(0, 10), (10, 20)], [(0, 10), (10, 20)])["f1"] == 1.0
    assert soda([(0, 10), (10, 20)], [(10, 20), (0, 10)])["f1"] == 0.5
    assert soda([(0, 10)], []) == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert soda([(0, 10)], [(20, 30)])["f1"] == 0.0


def test_no_output_raises() -> None:
    references: list[list[Span]] = [[], [(1.0, 2.0)], [(1.0, 2.0), (3.0, 9.0)]]
    for number, output in enumerate(hostile_outputs(10_000)):
        score = score_temporal_grounding(references[number % 3], output, scored=number % 2 == 0)
        assert score.status in STATUSES
        assert all(counts.rate is not None and 0 <= counts.rate <= 1 for counts in score.counts.values())
        json.dumps(dict(score.detail), allow_nan=False)


@pytest.mark.parametrize("output", HUGE_OUTPUTS, ids=range(len(HUGE_OUTPUTS)))
def test_a_huge_output_is_cut(output: str) -> None:
    assert score_temporal_grounding([(1.0, 2.0)], output).status in ("truncated", "empty")
