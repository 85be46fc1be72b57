"""Facts, selling points and captions: right is 1, silence is 0, numbers and colours are exact, nothing raises."""

from __future__ import annotations

import json

import pytest
from hostile_outputs import HUGE_OUTPUTS, hostile_outputs
from hypothesis import given, settings
from hypothesis import strategies as st
from tliveomni_eval.evals.metrics.fact import FACT_SIMILARITY, Fact, fact_similarity, tokens
from tliveomni_eval.evals.metrics.fact_recall import MAX_CAPTION_TOKENS, score_fact_recall
from tliveomni_eval.evals.metrics.selling_points import MAX_POINTS, parse_points, score_selling_points

FACTS = (
    Fact("红色的瓶子", ("红色瓶子",), "product", ("红色",)),
    Fact("blue handbag", ("blue bag",), "product", ("blue",)),
    Fact("晴篱舒缓面膜", ("舒缓面膜",)),
    Fact("Quilgear foldable desk lamp", ("foldable desk lamp",)),
    Fact("¥35", (), "price"),
    Fact("¥852", (), "price"),
)

words = st.text("abcdefgh", min_size=3, max_size=8)
facts = st.lists(st.lists(words, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=6, unique=True)


def states(wording: str, text: str, *required: str) -> bool:
    return fact_similarity(Fact(wording, required=required), tokens(text)) >= FACT_SIMILARITY


@pytest.mark.parametrize(
    "wording, text, expected",
    [
        ("mug", "two mugs on a table", True),
        ("shoes", "the show is on, she shows it", False),
        ("手提包", "她拿着手提包说包邮", True),
        ("鞋子", "主播展示瓶子", False),
        ("¥35", "到手价￥35.00元", True),
        ("¥35", "¥350 or ¥36 or ¥3.5", False),
        ("全国包邮", "今天全国都包邮哦", True),
        ("foldable desk lamp", "FOLDABLE desk-lamp!", True),
        ("foldable desk lamp", "foldable desk lamb", True),
        ("Quilgear", "Lumzen", False),
    ],
)
def test_words_are_fuzzy_and_numbers_exact(wording: str, text: str, expected: bool) -> None:
    assert states(wording, text) is expected


def test_a_required_text_must_be_in_the_same_place() -> None:
    assert states("红色的运动鞋", "粉色的运动鞋")
    assert not states("红色的运动鞋", "粉色的运动鞋", "红色")
    assert not states("red handbag", "a handbag in blue beside a box in red", "red")
    assert states("red handbag", "a red hand-bag", "red")


def test_a_fact_has_something_to_look_for() -> None:
    with pytest.raises(ValueError, match="letter or a digit"):
        Fact("¥!")


def test_all_facts_are_1_and_none_0() -> None:
    listed = score_selling_points(FACTS, json.dumps([fact.text for fact in FACTS], ensure_ascii=False))
    assert {name: counts.rate for name, counts in listed.counts.items()} == {"f1": 1.0, "recall": 1.0, "precision": 1.0}
    caption = score_fact_recall(FACTS, ", ".join(fact.text for fact in FACTS))
    assert {name: counts.rate for name, counts in caption.counts.items()} == {"fact_recall": 1.0, "all_facts": 1.0}
    assert (listed.status, caption.status) == ("ok", "ok")
    for silence, status in (("", "empty"), (None, "error")):
        for score in (score_selling_points(FACTS, silence), score_fact_recall(FACTS, silence)):
            assert score.status == status
            assert not any(counts.num for counts in score.counts.values())
    with pytest.raises(ValueError, match="got none"):
        score_selling_points((), "[]")
    with pytest.raises(ValueError, match="got none"):
        score_fact_recall((), "")


def test_f1_counts_what_is_missing_and_what_is_wrong() -> None:
    score = score_selling_points(FACTS, '["¥35", "¥852", "¥999", "red bottle"]')
    assert (score.counts["f1"].num, score.counts["f1"].den) == (4, 10)
    assert score.detail["wrong_points"] == ["¥999", "red bottle"]
    assert [fact["text"] for fact in score.detail["facts"] if fact["stated"]] == ["¥35", "¥852"]


def test_one_point_states_one_fact_and_one_that_hedges_none() -> None:
    everything = " ".join(fact.text for fact in FACTS)
    assert score_selling_points(FACTS, json.dumps([everything])).counts["f1"].num == 0
    assert score_selling_points(FACTS, '["¥35 or ¥36"]').counts["f1"].num == 0
    twice = score_selling_points(FACTS, '["¥35", "price ¥35", "¥35"]')
    assert (twice.counts["f1"].num, twice.counts["precision"].den) == (2, 2)


@pytest.mark.parametrize(
    "text, items, status",
    [
        ('Sure:\n```json\n["a b", "¥35"]\n```', ("a b", "¥35"), "ok"),
        ("1. a b\n2. ¥35", ("a b", "¥35"), "ok"),
        ("- a b\n* ¥35", ("a b", "¥35"), "ok"),
        ('["a b", "¥35", "bro', ("a b", "¥35"), "truncated"),
        ("It costs ¥35.", (), "unparsed"),
        ("[]", (), "ok"),
    ],
)
def test_a_list_is_read_and_prose_is_not(text: str, items: tuple[str, ...], status: str) -> None:
    score = score_selling_points(FACTS, text)
    assert score.status == status
    assert score.counts["precision"].den == len(items)
    if "`" not in text:
        assert parse_points(text)[0] == items


def test_a_caption_that_names_everything_is_cut() -> None:
    score = score_fact_recall(FACTS, "word " * MAX_CAPTION_TOKENS + FACTS[0].text)
    assert (score.status, score.counts["fact_recall"].num) == ("truncated", 0)


@settings(max_examples=60, deadline=None)
@given(facts, st.integers(0, 6), st.randoms())
def test_order_does_not_matter_and_each_fact_left_out_costs(named: list[str], left_out: int, rng: object) -> None:
    reference = [Fact(text) for text in named]
    kept = named[left_out:]
    shuffled = list(kept)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (score_selling_points(reference, json.dumps(items)).counts["f1"] for items in (kept, shuffled))
    assert one == other
    assert one.num == 2 * len(kept)
    assert one.den == len(named) + len(kept)
    assert score_fact_recall(reference, "; ".join(shuffled)).counts["fact_recall"].num >= len(kept)


@settings(max_examples=100, deadline=None)
@given(facts, st.text(max_size=80))
def test_a_caption_only_gains_by_more_words(named: list[str], text: str) -> None:
    reference = [Fact(item) for item in named]
    before = score_fact_recall(reference, named[0]).counts["fact_recall"].num
    assert before >= 1
    assert 0 <= score_fact_recall(reference, text).counts["fact_recall"].num <= len(named)
    assert score_fact_recall(reference, f"{named[0]}; and").counts["fact_recall"].num >= before


def test_hostile_outputs_are_scored() -> None:
    for output in (*hostile_outputs(1500), *HUGE_OUTPUTS):
        points = score_selling_points(FACTS, output)
        assert points.counts["precision"].den <= MAX_POINTS
        assert 0 <= points.counts["f1"].num <= points.counts["f1"].den
        assert 0 <= score_fact_recall(FACTS, output).counts["fact_recall"].num <= len(FACTS)
        json.dumps(points.detail)
