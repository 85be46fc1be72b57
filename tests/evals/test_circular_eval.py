from __future__ import annotations

import json
import math
import random
from collections.abc import Callable

import pytest
from tliveomni_eval.evals.metrics.circular_eval import (
    ROTATION_STRIDE,
    CircularReport,
    RotatedQuestion,
    RotationAnswer,
    circular_report,
    question_of,
    rotation_of,
    rotations,
    score_choice,
)
from tliveomni_eval.evals.metrics.group_payload import GroupPayload, count_groups
from tliveomni_eval.evals.record import Counts

Model = Callable[[RotatedQuestion], str]
TEXTS = ["cup", "shoe", "hat", "pen"]


def run(model: Model, questions: int = 400, seed: int = 1) -> CircularReport:
    """Asks 2-, 3- and 4-option questions, the right option evenly spread over the places, and reports."""
    rng = random.Random(seed)
    answers = []
    for index in range(questions):
        size = (2, 3, 4, 4)[index % 4]
        options = rng.sample(TEXTS, size)
        for request in rotations(index, options, (index // 4) % size):
            category = "colour" if index % 2 else "count"
            _, answer = score_choice(
                request.index,
                request.options,
                request.answer,
                model(request),
                category=category,
                l2_category="perception",
            )
            answers.append(answer)
    rng.shuffle(answers)
    return circular_report(answers)


def rotated(options: list[str], answer: int) -> list[tuple[int, str, str]]:
    return [(item.index, item.answer, "".join(item.options.values())) for item in rotations(7, options, answer)]


def test_rotations_present_the_options_from_number_i_on() -> None:
    assert rotated(["1", "2"], 0) == [(7, "A", "12"), (1_000_007, "B", "21")]
    assert rotated(["1", "2", "3"], 1) == [(7, "B", "123"), (1_000_007, "A", "231"), (2_000_007, "C", "312")]
    assert [item[1] for item in rotated(["1", "2", "3", "4"], 2)] == ["C", "B", "A", "D"]


def test_the_right_text_stays_right() -> None:
    for request in rotations(5, TEXTS, 3):
        assert request.options[request.answer] == "pen"
        assert question_of(request.index) == 5
    assert rotation_of(3 * ROTATION_STRIDE + 5) == 3


@pytest.mark.parametrize(
    ("index", "options", "answer", "match"),
    [
        (ROTATION_STRIDE, ["1", "2"], 0, "index"),
        (-1, ["1", "2"], 0, "index"),
        (1, ["1"], 0, "options"),
        (1, ["1"] * 27, 0, "options"),
        (1, ["1", "2"], 2, "answer"),
        (1, ["1", "1"], 0, "same text"),
    ],
)
def test_impossible_questions_are_refused(index: int, options: list[str], answer: int, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        rotations(index, options, answer)


def test_always_the_letter_a() -> None:
    report = run(lambda request: "A")
    assert report.circular.rate == 0
    # A 2-, a 3- and two 4-option questions in four: the right option is first in 1/2, 1/3, 1/4 and 1/4 of them.
    assert report.vanilla.rate == pytest.approx((1 / 2 + 1 / 3 + 2 / 4) / 4, abs=0.01)
    assert report.difference == report.vanilla.rate
    assert report.consistency.rate == 0
    assert {letter: counts.rate for letter, counts in report.by_position.items()} == {"A": 1, "B": 0, "C": 0, "D": 0}
    spread = {size: math.sqrt((1 - 1 / size) / size) for size in (2, 3, 4)}
    assert report.position_bias == pytest.approx((spread[2] + spread[3] + 2 * spread[4]) / 4)
    assert report.chosen_share == {"A": 1.0}


def test_the_first_presented_text_is_position_luck_too() -> None:
    report = run(lambda request: f"It is the {request.options['A']}.")
    assert report.circular.rate == 0
    assert report.vanilla.rate == pytest.approx((1 / 2 + 1 / 3 + 2 / 4) / 4, abs=0.01)


def test_always_the_same_text() -> None:
    report = run(lambda request: min(request.options.values()))
    assert report.consistency.rate == 1
    assert report.difference == 0
    assert report.circular.rate == pytest.approx((1 / 2 + 1 / 3 + 2 / 4) / 4, abs=0.07)


@pytest.mark.parametrize("p", [0.5, 0.8, 0.95])
def test_right_with_probability_p_gives_p_to_the_number_of_rotations(p: float) -> None:
    rng = random.Random(9)

    def model(request: RotatedQuestion) -> str:
        wrong = [letter for letter in request.options if letter != request.answer]
        return request.answer if rng.random() < p else rng.choice(wrong)

    report = run(model, questions=4000)
    expected = (p**2 + p**3 + 2 * p**4) / 4
    half_width = 3.3 * math.sqrt(expected * (1 - expected) / 4000)
    assert report.circular.rate == pytest.approx(expected, abs=half_width)
    assert report.vanilla.rate == pytest.approx(p, abs=3.3 * math.sqrt(p * (1 - p) / 4000))
    assert report.position_bias is not None
    assert report.position_bias < 0.03


def test_a_perfect_model_and_a_silent_one() -> None:
    perfect, silent = run(lambda request: request.answer), run(lambda request: "")
    assert {perfect.circular.rate, perfect.vanilla.rate, perfect.consistency.rate} == {1.0}
    assert perfect.position_bias == 0
    assert {silent.circular.rate, silent.vanilla.rate, silent.consistency.rate} == {0.0}
    assert silent.unparsed.rate == 1
    assert silent.chosen_share == {"unparsed": 1.0}
    assert silent.circular.den == perfect.circular.den == 400


def test_categories() -> None:
    report = run(lambda request: request.answer)
    assert report.by_category == {"colour": Counts(200, 200), "count": Counts(200, 200)}
    assert report.by_l2_category == {"perception": Counts(400, 400)}


def answers_of(chosen: list[str | None], index: int = 7) -> list[RotationAnswer]:
    requests = rotations(index, TEXTS[: len(chosen)], 0)
    return [
        RotationAnswer(item.index, item.options, item.answer, letter)
        for item, letter in zip(requests, chosen, strict=True)
    ]


def test_one_wrong_or_unread_rotation_loses_the_question() -> None:
    assert circular_report(answers_of(["A", "C", "B"])).circular.rate == 1
    assert circular_report(answers_of(["A", "C", "A"])).circular.rate == 0
    unread = circular_report(answers_of(["A", "C", None]))
    assert (unread.circular.rate, unread.vanilla.rate, unread.consistency.rate, unread.unparsed.num) == (0, 1, 0, 1)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_question_without_all_rotations_is_missing_and_never_a_hit(lost: int) -> None:
    found = answers_of(["A", "C", "B"])
    del found[lost]
    report = circular_report([*found, *answers_of(["A", "B"], index=8)])
    assert report.missing == (7,)
    assert report.circular == Counts(1, 1)
    assert report.vanilla == Counts(1, 1)
    groups = count_groups(("q", item.payload) for item in found)
    assert groups.missing == ("7",)
    assert groups.total == Counts(0, 0)


def test_a_run_without_a_whole_question_has_no_rates() -> None:
    report = circular_report(answers_of(["A", "C", "B"])[:1])
    assert report.circular.rate is None
    assert report.difference is None
    assert report.position_bias is None
    assert json.loads(json.dumps(report.logged()))["missing"] == [7]


def test_what_contradicts_itself_is_refused() -> None:
    found = answers_of(["A", "C", "B"])
    with pytest.raises(ValueError, match="7 occurs twice"):
        circular_report([*found, found[0]])
    other = RotationAnswer(found[2].index, {"A": "cup", "B": "hat"}, "A", "A")
    with pytest.raises(ValueError, match=r"\[2, 3\] options"):
        circular_report([*found[:2], other])
    with pytest.raises(ValueError, match="'C' is none of the options"):
        score_choice(1, {"A": "cup", "B": "hat", "C": "nan"}, "C", "A")


def test_the_groups_of_a_cluster_add_up_to_the_report() -> None:
    answers = [*answers_of(["A", "C", "B"], 1), *answers_of(["A", "A", "B"], 2), *answers_of(["A", "B"], 3)]
    groups = count_groups((str(question_of(item.index)), item.payload) for item in answers)
    assert groups.by_cluster == {"1": Counts(1, 1), "2": Counts(0, 1), "3": Counts(1, 1)}
    assert groups.total == circular_report(answers).circular


def test_group_payloads_survive_the_log_and_refuse_contradictions() -> None:
    payload = answers_of(["A", "C", "B"])[1].payload
    logged = payload.logged("s")
    assert logged["id"] == "s"
    assert GroupPayload.from_logged(json.loads(json.dumps(logged))) == payload
    with pytest.raises(ValueError, match="average_precision"):
        GroupPayload.from_logged({"kind": "average_precision"})
    with pytest.raises(ValueError, match="'1' twice"):
        count_groups([("c", payload), ("c", payload)])
    with pytest.raises(ValueError, match="cluster 'c' of 3 members"):
        count_groups([("c", payload), ("d", GroupPayload("7", "2", 3, True))])


def test_detail_says_how_the_answer_was_read() -> None:
    score, answer = score_choice(1_000_003, {"A": "cup", "B": "hat"}, "B", "It is a hat", category="kind")
    assert score.counts == {"accuracy": Counts(1, 1)}
    assert score.detail["rule"] == "named text"
    assert (answer.hit, answer.payload) == (True, GroupPayload("3", "1", 2, True))
