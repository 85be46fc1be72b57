from __future__ import annotations

import json

import pytest
from hostile_outputs import HUGE_OUTPUTS, hostile_outputs
from tliveomni_eval.evals.metrics.average_precision import Box, DetectedBox, ReferenceBox
from tliveomni_eval.evals.metrics.box_parser import parse_boxes
from tliveomni_eval.evals.metrics.localization import (
    CoordinateSpace,
    NoScoreConvention,
    box_iou,
    detected_boxes,
    score_localization,
    to_pixels,
)
from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.set_payload import weighted_average_precision
from tliveomni_eval.evals.record import STATUSES

CUP = ReferenceBox((10, 20, 110, 220), "cup")
SHOE = ReferenceBox((300, 40, 400, 90), "shoe")


def rates(
    references: list[ReferenceBox], output: str | None, space: CoordinateSpace = "pixels", compare_labels: bool = False
) -> dict[str, float | None]:
    score, payload = score_localization(
        references, output, space=space, width=1920, height=1080, compare_labels=compare_labels
    )
    return {name: counts.rate for name, counts in score.counts.items()} | {"ap": weighted_average_precision([payload])}


def qwen(*items: tuple[Box, str]) -> str:
    return json.dumps([{"bbox_2d": list(box), "label": label} for box, label in items])


@pytest.mark.parametrize("compare_labels", [True, False])
@pytest.mark.parametrize("references", [[CUP], [CUP, SHOE]])
def test_the_reference_as_answer_scores_one(references: list[ReferenceBox], compare_labels: bool) -> None:
    output = qwen(*((item.box, item.label) for item in references))
    assert set(rates(references, output, compare_labels=compare_labels).values()) == {1.0}


def test_the_reference_as_relative_answer_scores_one() -> None:
    reference = ReferenceBox((192, 108, 384, 216), "cup")
    assert set(rates([reference], qwen(((100, 100, 200, 200), "cup")), "relative_1000").values()) == {1.0}
    assert rates([reference], qwen(((100, 100, 200, 200), "cup")), "pixels")["acc@0.5"] == 0.0


@pytest.mark.parametrize("output", [None, "", "on the left", "[400, 400, 300, 300]", '{"bbox_2d": [NaN, 1, 2, 3]}'])
@pytest.mark.parametrize("references", [[CUP], [CUP, SHOE]])
def test_nothing_unreadable_reversed_and_nan_score_zero(references: list[ReferenceBox], output: str | None) -> None:
    assert set(rates(references, output).values()) == {0.0}


def test_an_absent_thing_is_right_when_no_box_is_named() -> None:
    assert rates([], "[]") == {"acc@0.5": 1.0, "miou": 1.0, "f1@0.5": 1.0, "f1@0.75": 1.0, "ap": None}
    for output in (None, "", "on the left", "[1, 2, 3, 4]"):
        assert set(rates([], output).values()) == {0.0, None}
    named = score_localization([], "[1,2,3,4]", space="pixels", width=9, height=9)[0].counts["f1@0.5"]
    assert (named.num, named.den) == (0, 2)


def test_thresholds_and_counts() -> None:
    score, _ = score_localization([CUP, SHOE], "[10, 20, 110, 140]", space="pixels", width=1920, height=1080)
    counts = {name: (value.num, value.den) for name, value in score.counts.items()}
    assert counts == {"acc@0.5": (1, 1), "miou": (pytest.approx(0.6), 2), "f1@0.5": (2, 3), "f1@0.75": (0, 3)}
    assert score.detail["iou"] == [pytest.approx(0.6)]


def test_labels_count_only_where_compared() -> None:
    wrong_label = qwen((CUP.box, "shoe"))
    assert rates([CUP], wrong_label)["f1@0.5"] == 1.0
    assert set(rates([CUP], wrong_label, compare_labels=True).values()) == {0.0}
    assert rates([CUP], qwen((CUP.box, " ＣＵＰ ")), compare_labels=True)["f1@0.5"] == 1.0


def test_an_extra_box_costs_f1() -> None:
    assert rates([CUP], qwen((CUP.box, "cup"), (CUP.box, "cup")))["f1@0.5"] == pytest.approx(2 / 3)


def test_the_surest_box_decides_accuracy() -> None:
    scored = '[{"bbox":[0,0,1,1],"score":0.2},{"bbox":[10,20,110,220],"score":0.8}]'
    assert rates([CUP], scored)["acc@0.5"] == 1.0
    assert rates([CUP], scored.replace('"score":0.2', '"x":0'))["acc@0.5"] == 0.0


@pytest.mark.parametrize(("convention", "expected"), [("rank", [1.0, 0.5, 1 / 3]), ("constant", [1.0, 1.0, 1.0])])
def test_boxes_without_score_get_one_by_convention(convention: NoScoreConvention, expected: list[float]) -> None:
    answer = parse_boxes(read_output('[[1,2,3,4],{"bbox":[1,2,3,4],"score":0.1},{"bbox":[]}]'))
    found = detected_boxes(answer, "pixels", 9, 9, no_score=convention)
    assert [item.score for item in found] == expected
    assert found[2] == DetectedBox((0, 0, 0, 0), expected[2])


def test_iou() -> None:
    assert box_iou([(0, 0, 10, 10)], [(0, 0, 10, 10), (10, 10, 20, 20), (0, 0, 5, 10)]).tolist() == [[1.0, 0.0, 0.5]]
    assert box_iou([(10, 10, 0, 0), (0, 0, 0, 0)], [(0, 0, 10, 10)]).tolist() == [[0.0], [0.0]]
    assert box_iou([], [(0, 0, 1, 1)]).shape == (0, 1)


def test_coordinates() -> None:
    assert to_pixels((100, 100, 200, 200), "relative_1000", 1920, 1080) == (192, 108, 384, 216)
    assert to_pixels((1, 2, 3, 4), "pixels", 1920, 1080) == (1, 2, 3, 4)


def test_status() -> None:
    def status(output: str | None) -> str:
        return score_localization([CUP], output, space="pixels", width=9, height=9)[0].status

    outputs = (None, " ", "left", "[1,2,3,4]", "[[1,2,3,4],[5,", "[1,2,3,4]" * 9000)
    assert [status(output) for output in outputs] == ["error", "empty", "unparsed", "ok", "truncated", "truncated"]


@pytest.mark.parametrize("size", [(0, 5), (5, -1), (float("nan"), 5), (5, float("inf"))])
def test_an_impossible_image_size_is_refused(size: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        score_localization([CUP], "[]", space="pixels", width=size[0], height=size[1])


def test_no_output_raises() -> None:
    references = ([], [CUP], [CUP, SHOE])
    for number, output in enumerate(hostile_outputs(10_000)):
        space: CoordinateSpace = "pixels" if number % 2 else "relative_1000"
        score, payload = score_localization(
            references[number % 3], output, space=space, width=640, height=480, compare_labels=number % 5 == 0
        )
        assert score.status in STATUSES
        assert all(counts.rate is not None and 0 <= counts.rate <= 1 for counts in score.counts.values())
        json.dumps([dict(score.detail), payload.logged("x")], allow_nan=False)


@pytest.mark.parametrize("output", HUGE_OUTPUTS, ids=range(len(HUGE_OUTPUTS)))
def test_a_huge_output_is_cut(output: str) -> None:
    score, _ = score_localization([CUP], output, space="pixels", width=640, height=480)
    assert score.status in ("truncated", "empty")
