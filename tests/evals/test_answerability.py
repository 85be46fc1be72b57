from __future__ import annotations

import pytest
from hostile_outputs import HUGE_OUTPUTS, hostile_outputs
from hypothesis import given
from hypothesis import strategies as st
from tliveomni_eval.evals.metrics.answerability import balanced_accuracy, read_answer, score_answerability
from tliveomni_eval.evals.metrics.closed_answer import score_closed_answer
from tliveomni_eval.evals.record import STATUSES

REFUSALS = [
    "cannot tell", "Cannot tell.", "I can't tell.", "It cannot be determined from the picture.",
    "The price is not shown.",
    "The tag is covered.", "There is no purple phone.", "I don't know", "No price tag is visible.", "Unknown",
    "无法判断", "无法判断。", "图中没有显示价格。", "看不清", "价格被遮挡了", "图中没有这个商品", "不知道", "未标价",
]  # fmt: skip
VALUES = ["¥12", "12元", "The price is ¥12.", "售价¥12", "12"]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_right_only_where_nothing_is_shown(text: str) -> None:
    assert read_answer(text) == "refusal"
    assert score_answerability(None, text).counts["balanced_accuracy"].num == 1
    assert score_answerability("¥12", text).counts["balanced_accuracy"].num == 0


@pytest.mark.parametrize("text", VALUES)
def test_a_price_is_right_only_where_it_is_shown(text: str) -> None:
    assert score_answerability("¥12", text).counts["balanced_accuracy"].num == 1
    assert score_answerability("¥21", text).counts["balanced_accuracy"].num == 0
    assert score_answerability(None, text).counts["balanced_accuracy"].num == 0


@pytest.mark.parametrize("text", ["¥12, but I cannot tell", "a mug", "¥12 or ¥13"])
def test_an_answer_that_does_not_decide_is_wrong(text: str) -> None:
    assert score_answerability(None, text).counts["balanced_accuracy"].num == 0
    assert score_answerability("¥12", text).counts["balanced_accuracy"].num == 0


@given(
    pairs=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60),
)
def test_on_whole_pairs_balanced_accuracy_is_the_share_of_right_answers(pairs: list[tuple[bool, bool]]) -> None:
    answers = [(answerable, hit) for pair in pairs for answerable, hit in zip((True, False), pair, strict=True)]
    share = sum(hit for _, hit in answers) / len(answers)
    assert balanced_accuracy(answers) == pytest.approx(share)


def test_one_kind_alone_has_no_balanced_accuracy() -> None:
    assert balanced_accuracy([(True, True)]) is None
    assert balanced_accuracy([(True, True), (True, True), (False, False)]) == 0.5


def test_a_reference_that_is_no_price_is_refused() -> None:
    with pytest.raises(ValueError, match="'cheap'"):
        score_answerability("cheap", "¥12")


ALLOWED = ["red mug", "blue cap", "red cap", "红色杯子"]


@pytest.mark.parametrize(
    ("output", "read"),
    [
        ("red mug", "red mug"),
        ("The red mug.", "red mug"),
        ("It is the RED MUG", "red mug"),
        ("**blue cap**", "blue cap"),
        ("是红色杯子。", "红色杯子"),
        ("A", None),
        ("mug", None),
        ("red mug or blue cap", None),
        ("not the red mug, the blue cap", "blue cap"),
        ("", None),
    ],
)
def test_a_closed_answer_is_read_by_its_words(output: str, read: str | None) -> None:
    score = score_closed_answer("red mug", output, ALLOWED)
    assert score.detail["read"] == read
    assert score.counts["accuracy"].num == (read == "red mug")


def test_impossible_lists_are_refused() -> None:
    with pytest.raises(ValueError, match="none of the allowed"):
        score_closed_answer("x", "x", ALLOWED)
    with pytest.raises(ValueError, match="2 to 26"):
        score_closed_answer("x", "x", ["x"])


def test_any_output_is_scored() -> None:
    for output in hostile_outputs(3000):
        assert score_answerability("¥12", output).status in STATUSES
        assert score_closed_answer("red mug", output, ALLOWED).status in STATUSES


@pytest.mark.parametrize("output", HUGE_OUTPUTS)
def test_huge_outputs_are_scored(output: str) -> None:
    assert score_answerability(None, output).status in STATUSES
    assert score_closed_answer("red mug", output, ALLOWED).status in STATUSES
