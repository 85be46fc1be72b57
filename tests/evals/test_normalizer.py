import random

import cn2an
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tliveomni_eval.evals.text.amounts import amounts_in
from tliveomni_eval.evals.text.normalizer import MAX_NORMALIZED_CHARS, STEPS, normalize_transcript
from tliveomni_eval.evals.text.spoken_numbers import (
    chinese_numbers_to_digits,
    english_numbers_to_digits,
    parse_chinese_cardinal,
)
from tliveomni_eval.evals.text.tokens import tokenize


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("一百二十九块九", "129.9元"),
        ("九块九包邮", "9.9元包邮"),
        ("9块9包邮", "9.9元包邮"),
        ("￥１２９．９０", "129.9元"),
        ("RMB 1,299.00", "1299元"),
        ("129元9角", "129.9元"),
        ("九块九毛九", "9.99元"),
        ("十九块九三件", "19.9元3件"),
        ("三块五一斤", "3.5元1斤"),
        ("二十块三毛五", "20.35元"),
        ("一万二", "12000"),
        ("1.2万元", "12000元"),
        ("百分之三十", "30%"),
        ("打八八折", "打8.8折"),
        ("二零二四年", "2024年"),
        ("十几个，几十个", "10几个几10个"),
        ("七八个", "七八个"),
        ("二两", "2两"),
        ("$12.99", "12.99 dollars"),
        ("twelve dollars and ninety-nine cents", "12.99 dollars"),
        ("nineteen ninety nine dollars", "19.99 dollars"),
        ("It’s  OK — really!", "it's ok really"),
        ("呃，這個電視啊", "这个电视"),
        ("um, the hum of it", "the hum of it"),
        ("AB-1020-X 和 ab 1020", "ab1020x和ab 1020"),
        ("3.5.", "3.5"),
    ],
)
def test_a_transcript_has_one_form(text: str, normalized: str) -> None:
    assert normalize_transcript(text) == normalized


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("199", "299"),
        ("19.9", "199"),
        ("九块九", "九十九"),
        ("一百九", "一百零九"),
        ("七八个", "七十八个"),
        ("十九块九", "十九块"),
        ("三五百", "三百五"),
        ("1.29万", "1.2万"),
        ("nineteen", "ninety"),
        ("one hundred nine", "one hundred ninety"),
    ],
)
def test_different_numbers_stay_different(first: str, second: str) -> None:
    assert normalize_transcript(first) != normalize_transcript(second)


def test_every_cardinal_is_read_as_cn2an_reads_it() -> None:
    rng = random.Random(3)
    for value in [*range(10, 3000), *(rng.randrange(10**11) for _ in range(3000))]:
        spoken = cn2an.an2cn(str(value))
        assert parse_chinese_cardinal(spoken) == value == cn2an.cn2an(spoken, "strict")
        assert chinese_numbers_to_digits(f"共{spoken}元") == f"共{value}元"


@given(st.integers(10, 10**6), st.integers(10, 10**6))
def test_spoken_and_written_amounts_agree_exactly_when_equal(first: int, second: int) -> None:
    spoken = f"{cn2an.an2cn(str(first))}块{cn2an.an2cn(str(first % 9 + 1))}"
    written = f"¥{second}.{second % 9 + 1}"
    assert (normalize_transcript(spoken) == normalize_transcript(written)) == (first == second)


@pytest.mark.parametrize(
    "run", ["三五百", "十二一千", "零百", "一百零", "二十九千", "一百一百", "五五十", "一百零零三", "一十百"]
)
def test_what_is_no_number_stays(run: str) -> None:
    assert parse_chinese_cardinal(run) is None
    assert chinese_numbers_to_digits(run) == run


@pytest.mark.parametrize(
    ("words", "digits"),
    [
        ("one hundred and twenty-nine point five", "129.5"),
        ("two thousand and twelve", "2012"),
        ("one million two hundred thousand and five", "1200005"),
        ("twenty twenty four", "20 24"),
        ("one zero two", "102"),
        ("one two three thousand", "1 2 3000"),
        ("nine point nine nine", "9.99"),
        ("two and three", "2 and 3"),
        ("a hundred", "a 100"),
        ("nine point ten", "9 point 10"),
        ("someone won", "someone won"),
        ("twelve thousand and", "12000 and"),
    ],
)
def test_english_number_words(words: str, digits: str) -> None:
    assert english_numbers_to_digits(words) == digits


@given(st.integers(1, 999_999))
def test_english_cardinals_are_read_back(value: int) -> None:
    assert english_numbers_to_digits(spoken_english(value)) == str(value)


def spoken_english(value: int) -> str:
    small = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ]
    tens = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    if value >= 1000:
        rest = f" {spoken_english(value % 1000)}" if value % 1000 else ""
        return f"{spoken_english(value // 1000)} thousand{rest}"
    if value >= 100:
        rest = f" and {spoken_english(value % 100)}" if value % 100 else ""
        return f"{small[value // 100]} hundred{rest}"
    if value >= 20:
        return tens[value // 10 - 2] + (f" {small[value % 10]}" if value % 10 else "")
    return small[value]


@given(st.text())
def test_normalising_again_changes_nothing_but_bounded(text: str) -> None:
    once = normalize_transcript(text)
    assert len(once) <= MAX_NORMALIZED_CHARS * 2
    assert tokenize(once, "zh") == tokenize(" ".join(once.split()), "zh")
    assert not any(token.isspace() or not token for token in tokenize(once, "en"))


def test_unfolding_forms_cannot_blow_a_text_up() -> None:
    assert len(normalize_transcript("\ufdfa" * 50_000)) <= MAX_NORMALIZED_CHARS


def test_steps_have_names_and_meanings() -> None:
    assert all(name and step.__doc__ for name, step in STEPS)


def test_amounts_are_counted_with_their_currency() -> None:
    counted = amounts_in(normalize_transcript("原价199元，现价一百二十九块九，两个129.9元，$5"))
    assert counted == {"199元": 1, "129.9元": 2, "5 dollars": 1}


def test_tokens_by_language() -> None:
    assert tokenize("小棕瓶12.9元 iphone15", "zh") == ["小", "棕", "瓶", "1", "2", ".", "9", "元", "iphone15"]
    assert tokenize("only 12.9 dollars", "en") == ["only", "12.9", "dollars"]
    assert tokenize("买iphone 12 个", "mixed") == ["买", "iphone", "1", "2", "个"]


@settings(max_examples=300)
@given(
    st.text(
        st.sampled_from("嗯啊零一两十百千万亿块元角毛分折点包邮个件電視这款精华")
        | st.characters(min_codepoint=0x4DF0, max_codepoint=0xA010)
    )
)
def test_the_short_way_for_plain_ideographs_is_no_other_way(text: str) -> None:
    stepped = text
    for _, step in STEPS:
        stepped = step(stepped)
    assert normalize_transcript(text) == stepped
