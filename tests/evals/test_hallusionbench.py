from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest
from hostile_outputs import HUGE_OUTPUTS, hostile_outputs
from tliveomni_eval.evals.metrics.hallusionbench import (
    Category,
    HallusionItem,
    hallusion_accuracy,
    read_yes_no,
    score_hallusion,
)
from tliveomni_eval.evals.record import STATUSES


def item(
    category: Category = "VD",
    figure: str = "1",
    question: str = "0",
    answer: Literal["yes", "no"] = "yes",
    set_id: str = "3",
) -> HallusionItem:
    return HallusionItem(category, "chart", set_id, figure, question, answer)


@pytest.mark.parametrize(
    "output",
    [
        "Yes", "yes.", "**Yes**", "Yes, it is larger.", "The answer is yes", "Answer: Yes", "```\nyes\n```",
        "The circles are equal, so yes", "According to the chart, yes, it rises.", "是", "是的，左边更大。", "有。",
        "答案是是", "正确",
    ],
)  # fmt: skip
def test_yes(output: str) -> None:
    assert read_yes_no(output) == ("yes", "ok")


@pytest.mark.parametrize(
    "output",
    [
        "No", "no, because the left one is larger", "No, I cannot see that.", "The answer is no.", "否", "不是",
        "The bars differ. Therefore, no.", "It looks larger, but no", "没有。", "答案：否", "错误", "不，右边更大",
    ],
)  # fmt: skip
def test_no(output: str) -> None:
    assert read_yes_no(output) == ("no", "ok")


@pytest.mark.parametrize(
    "output",
    [
        "I'm not sure.", "It cannot be determined.", "It is unclear.", "No image was provided, so I cannot tell.",
        "无法判断", "不确定", "不一定", "I don't know", "There is insufficient information.", "Unable to determine",
    ],
)  # fmt: skip
def test_unclear(output: str) -> None:
    assert read_yes_no(output) == ("unclear", "ok")


@pytest.mark.parametrize(
    ("output", "status"),
    [
        (None, "error"),
        ("", "empty"),
        ("north", "unparsed"),
        ("Yes and no", "unparsed"),
        ("是否如此", "unparsed"),
        ("a" * 30_000, "truncated"),
    ],
)
def test_none_of_the_three(output: str | None, status: str) -> None:
    assert read_yes_no(output) == (None, status)


def test_unclear_is_right_only_for_a_visual_supplement_without_its_figure() -> None:
    def hit(category: Category, figure: str, output: str) -> float:
        return score_hallusion(item(category, figure), output)[0].counts["aAcc"].num

    assert hit("VS", "0", "It cannot be determined") == 1
    assert hit("VS", "1", "It cannot be determined") == 0
    assert hit("VD", "0", "It cannot be determined") == 0
    assert hit("VS", "0", "") == 0
    assert hit("VS", "0", "no") == 0


def test_groups() -> None:
    answers = [
        (item(figure="0", question="0"), "yes"),
        (item(figure="0", question="1"), "no"),
        (item(figure="1", question="0"), "yes"),
        (item(figure="1", question="1"), "yes"),
        (item("VS", figure="0"), "yes"),
        (item("VS", figure="1"), "yes"),
    ]
    accuracy = hallusion_accuracy(answers)
    assert (accuracy.answers.num, accuracy.answers.den) == (5, 6)
    assert (accuracy.figures.num, accuracy.figures.den) == (2, 3)
    assert (accuracy.questions.num, accuracy.questions.den) == (2, 3)
    assert item().cluster == "VD_chart_3"


def test_a_row_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        hallusion_accuracy([(item(), "yes"), (item(), "yes")])


def test_unknown_values_are_refused() -> None:
    with pytest.raises(ValueError, match="'VX'"):
        item("VX")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'1'"):
        item(answer="1")  # type: ignore[arg-type]


def official_scorer() -> ModuleType:
    """The official scoring functions as lmms-eval ships them, loaded without lmms-eval itself."""
    package = importlib.util.find_spec("lmms_eval")
    assert package is not None and package.origin is not None
    path = Path(package.origin).parent / "tasks" / "hallusion_bench" / "utils.py"
    spec = importlib.util.spec_from_file_location("official_hallusionbench", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_500_random_runs_agree_with_the_official_functions() -> None:
    official = official_scorer()
    rng = random.Random(4)
    spoken = {"yes": "Yes.", "no": "No.", "unclear": "It cannot be determined."}
    for _ in range(500):
        answers, rows = [], []
        categories: tuple[Category, ...] = ("VD", "VS")
        for category in categories:
            for set_id in "012":
                for figure in range(rng.randint(1, 3)):
                    for question in range(rng.randint(1, 3)):
                        answer: Literal["yes", "no"] = rng.choice(("yes", "no"))
                        verdict = rng.choice(("yes", "no", "unclear", answer, answer, answer))
                        row: dict[str, Any] = {
                            "category": category, "subcategory": "chart", "set_id": set_id, "figure_id": str(figure),
                            "question_id": str(question), "visual_input": "1",
                            "judged": "2" if verdict == "unclear" else str(int(verdict == answer)),
                        }  # fmt: skip
                        rows.append(row)
                        answers.append((item(category, str(figure), str(question), answer, set_id), spoken[verdict]))
        accuracy = hallusion_accuracy(answers)
        official.assign_correctness(rows, "judged")
        for counts, expected in (
            (accuracy.answers, official.get_eval_all(rows, "judged")),
            (accuracy.questions, official.get_eval_pair_all(rows, "judged")),
            (
                accuracy.figures,
                official.get_eval_fig(rows)
                if any(r["figure_id"] != "0" or r["category"] == "VD" for r in rows)
                else None,
            ),
        ):
            assert expected is not None
            assert (counts.num, counts.den) == (expected["correct"], expected["total"])


def test_no_output_raises() -> None:
    for output in hostile_outputs(10_000):
        score, _ = score_hallusion(item(), output)
        assert score.status in STATUSES


@pytest.mark.parametrize("output", HUGE_OUTPUTS, ids=range(len(HUGE_OUTPUTS)))
def test_a_huge_output_is_cut(output: str) -> None:
    assert read_yes_no(output)[1] in ("truncated", "empty")
