from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from tliveomni_eval.leaderboard.text_alignment import LONGEST_ALIGNED, align, character_confusions, rank_confusions

texts = st.text(max_size=40)


@given(texts, texts)
def test_alignment_rebuilds_both_texts(reference: str, output: str) -> None:
    edits = align(reference, output)
    if reference == output:
        assert edits == []
        return
    assert sum(step[1] for step in edits) == len(reference)
    assert sum(step[2] for step in edits) == len(output)
    at_reference = at_output = 0
    for tag, in_reference, in_output in edits:
        left = reference[at_reference : at_reference + in_reference]
        right = output[at_output : at_output + in_output]
        assert (left == right) == (tag == "=")
        assert (in_reference == 0) == (tag == "i")
        assert (in_output == 0) == (tag == "d")
        at_reference += in_reference
        at_output += in_output


@given(texts, texts)
def test_confusions_turn_one_bag_of_characters_into_the_other(reference: str, output: str) -> None:
    confusions = character_confusions(reference, output, align(reference, output))
    bag = Counter(reference)
    for (expected, got), n in confusions.items():
        assert expected != got
        bag.subtract({expected: n} if expected else {})
        bag.update({got: n} if got else {})
    assert +bag == Counter(output)


def test_a_long_text_is_not_aligned() -> None:
    assert align("a" * (LONGEST_ALIGNED + 1), "b") == []


def test_what_grew_most_comes_first() -> None:
    eight = Counter({("8", "0"): 1})
    other = Counter({("1", "7"): 1})
    ranked = rank_confusions([other, other, eight], [other, other, eight, eight, eight])
    assert [(one.reference, one.output, one.baseline, one.candidate) for one in ranked] == [("8", "0", 1, 3)]
