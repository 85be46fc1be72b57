from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hostile_outputs import HUGE_OUTPUTS, hostile_outputs
from hypothesis import given
from hypothesis import strategies as st
from tliveomni_eval.evals.metrics.choice_answer import letters_of, read_choice
from tliveomni_eval.evals.record import STATUSES

WRITTEN = Path(__file__).parent / "data" / "choice_answers.jsonl"

COLOURS = {"A": "red", "B": "dark red", "C": "blue", "D": "light blue"}
FRUITS = {"A": "Apple", "B": "Banana", "C": "Orange", "D": "Grape"}
FRUITS_ZH = {"A": "苹果", "B": "香蕉", "C": "橙子", "D": "葡萄"}
VERDICTS = {"A": "Yes", "B": "No"}
SIDES = {"A": "left", "B": "right", "C": "middle"}
LETTERED = {"A": "A is left of B", "B": "B is left of A", "C": "A is above B", "D": "They overlap"}
NUMBERS = {"A": "3", "B": "13", "C": "5", "D": "3.5"}
PRICES = {"A": "¥299", "B": "¥1,299", "C": "299%", "D": "-299"}
LANGUAGES = {"A": "C++", "B": "C", "C": "Java", "D": "Python"}
SITES = {"A": "B站", "B": "抖音", "C": "快手", "D": "淘宝"}


def test_written_answers_have_a_dozen_styles_in_two_languages() -> None:
    rows = [json.loads(line) for line in WRITTEN.read_text("utf-8").splitlines()]
    assert len(rows) >= 300
    assert len(Counter(row["style"] for row in rows)) >= 12
    assert sum(not row["output"].isascii() for row in rows) >= 100


def test_written_answers_are_never_misread_and_hardly_ever_unread() -> None:
    rows = [json.loads(line) for line in WRITTEN.read_text("utf-8").splitlines()]
    read = [read_choice(row["output"], row["options"]).letter for row in rows]
    wrong = [(row, letter) for row, letter in zip(rows, read, strict=True) if letter not in (None, row["expected"])]
    assert wrong == []
    unread = [row for row, letter in zip(rows, read, strict=True) if letter is None and row["expected"] is not None]
    assert len(unread) <= 0.02 * len(rows), unread


@pytest.mark.parametrize(
    ("output", "options", "expected"),
    [
        ("The answer is not B.", COLOURS, None),
        ("I don't think the answer is B.", COLOURS, None),
        ("I do not believe that the correct answer is B", COLOURS, None),
        ("我不认为答案是B。", FRUITS_ZH, None),
        ("不选A", FRUITS_ZH, None),
        ("None of the above", COLOURS, None),
        ("A is wrong", COLOURS, None),
        ("C because B is wrong", COLOURS, "C"),
        ("A选项错误,B选项正确", FRUITS_ZH, "B"),
        ("A和B都不是，应该是C。", FRUITS_ZH, "C"),
        ("(A) is incorrect. (B) is incorrect. (C) is correct.", COLOURS, "C"),
        ("A. Apple is wrong; the answer is B", FRUITS, "B"),
        ("First the answer seems to be A. Wait, the correct answer is C.", COLOURS, "C"),
        ("The answer is A. The answer is B.", COLOURS, None),
        ("The answer is A and C", COLOURS, None),
        ("The answer is A, not B.", COLOURS, "A"),
        ("answer: A, B, C", COLOURS, None),
        ("选择A、C", FRUITS_ZH, None),
        ("A\nB", COLOURS, None),
        ("C\nC\nC", COLOURS, "C"),
        ("A: red\nB: dark red", COLOURS, None),
        ("(A) Yes (B) No", VERDICTS, None),
        ("E. Kiwi", FRUITS, None),
        ("(B) 选A", {"A": "答案B", "B": "选A", "C": "都不选"}, "B"),
        ("Answer: E", FRUITS, None),
    ],
)
def test_statements(output: str, options: dict[str, str], expected: str | None) -> None:
    assert read_choice(output, options).letter == expected


@pytest.mark.parametrize(
    ("output", "options", "expected"),
    [
        ("It is a banana", FRUITS, "B"),
        ("a banana", FRUITS, "B"),
        ("A Banana", FRUITS, "B"),
        ("The answer is A banana", FRUITS, "B"),
        ("I choose a grape", FRUITS, "D"),
        ("A man is wearing a blue shirt.", COLOURS, "C"),
        ("A cat and a dog", {"A": "red", "B": "苹果", "C": "dog", "D": "w1"}, "C"),
        ("A blue car and a red bus", COLOURS, None),
        ("As an AI, I cannot choose.", COLOURS, None),
        ("dark red", COLOURS, "B"),
        ("It is dark red.", COLOURS, "B"),
        ("It is not red", COLOURS, None),
        ("The fruit is not a banana. It's an orange.", FRUITS, "C"),
        ("pineapple", FRUITS, None),
        ("grapefruit", FRUITS, None),
        ("left, then right", SIDES, None),
        ("A is left of B", LETTERED, "A"),
        ("B is left of A.", LETTERED, "B"),
        ("The answer is that A is left of B.", LETTERED, "A"),
        ("A is above B, so the answer is C.", LETTERED, "C"),
        ("There are 3 apples", NUMBERS, "A"),
        ("It shows 13 people", NUMBERS, "B"),
        ("about 3.5 kg", NUMBERS, "D"),
        ("33 or 135", NUMBERS, None),
        ("The price is ¥1,299.", PRICES, "B"),
        ("¥299 today", PRICES, "A"),
        ("It fell by -299", PRICES, "D"),
        ("C++", LANGUAGES, "A"),
        ("The answer is C++", LANGUAGES, "A"),
        ("C", LANGUAGES, "C"),
        ("答案是B站", SITES, "A"),
        ("选B站", SITES, "A"),
        ("选B", SITES, "B"),
        ("Yes, there are no others", VERDICTS, "A"),
        ("There is no doubt: yes", VERDICTS, None),
        ("不是苹果，是香蕉", FRUITS_ZH, "B"),
        ("苹果不对，是香蕉", FRUITS_ZH, "B"),
        ("图中有苹果和香蕉", FRUITS_ZH, None),
    ],
)
def test_words_are_not_taken_for_letters_nor_parts_for_options(
    output: str, options: dict[str, str], expected: str | None
) -> None:
    assert read_choice(output, options).letter == expected


def test_options_that_do_not_exist() -> None:
    options = {"A": "cotton", "B": "silk", "C": "nan", "D": "", "E": None, "F": float("nan")}
    assert read_choice("B", options).letter == "B"
    for output in ("C", "nan", "The answer is D.", "E", "F", "it is nan"):
        assert read_choice(output, options).letter is None


def test_options_with_the_same_text_are_not_told_apart() -> None:
    assert read_choice("red", {"A": "red", "B": "Red"}).letter is None
    assert read_choice("B", {"A": "red", "B": "Red"}).letter == "B"


def test_the_only_mention_counts_in_short_answers_only() -> None:
    assert read_choice("Perhaps there was a grape somewhere", FRUITS).letter == "D"
    assert read_choice("Well. " * 40 + "a grape", FRUITS).letter is None


@pytest.mark.parametrize(
    ("output", "letter", "rule", "status"),
    [
        (None, None, "none", "error"),
        ("  ", None, "none", "empty"),
        ("hm", None, "none", "unparsed"),
        ("B", "B", "letter", "ok"),
        ("Banana.", "B", "text", "ok"),
        ("The answer is B", "B", "statement", "ok"),
        ("B. Banana", "B", "label", "ok"),
        ("The answer is the banana, not the grape", "B", "stated text", "ok"),
        ("It matches option B", "B", "mention", "ok"),
        ("It shows a banana", "B", "named text", "ok"),
        ("A and B are the answers, A or B: option A, option B", None, "conflict", "unparsed"),
        ("Z", None, "absent option", "unparsed"),
        ("x " * 20_000 + "\nThe answer is B", "B", "statement", "truncated"),
    ],
)
def test_rule_and_status(output: str | None, letter: str | None, rule: str, status: str) -> None:
    answer = read_choice(output, FRUITS)
    assert (answer.letter, answer.rule, answer.status) == (letter, rule, status)


texts = st.text("abcd 苹果红", min_size=2, max_size=8).filter(lambda text: len(text.strip()) > 1)


@given(st.lists(texts, min_size=2, max_size=6), st.data())
def test_a_letter_is_read_whatever_the_options_say(options: list[str], data: st.DataObject) -> None:
    presented = letters_of(options)
    letter = data.draw(st.sampled_from(sorted(presented)))
    assert read_choice(letter, presented).letter == letter
    assert read_choice(f"({letter})", presented).letter == letter


@given(st.text(max_size=40))
def test_what_is_read_is_an_option(output: str) -> None:
    assert read_choice(output, FRUITS).letter in {None, *FRUITS}


def test_no_output_raises() -> None:
    tables = (FRUITS, FRUITS_ZH, NUMBERS, VERDICTS, {"A": "(", "B": "[a-z]+", "C": "\\", "D": "nan"}, {})
    for number, output in enumerate(hostile_outputs(10_000)):
        options = tables[number % len(tables)]
        answer = read_choice(output, options)
        assert answer.status in STATUSES
        assert answer.letter is None or answer.letter in options


@pytest.mark.parametrize("output", HUGE_OUTPUTS, ids=range(len(HUGE_OUTPUTS)))
def test_a_huge_output_is_cut(output: str) -> None:
    assert read_choice(output, FRUITS).status in ("truncated", "empty")
