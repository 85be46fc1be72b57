"""A composed sample is a pure function of its arguments, has the slices it was asked for, and shows its reference."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tliveomni_eval.tasks.composer.asked_text import split_in_two
from tliveomni_eval.tasks.composer.card_layout import Table
from tliveomni_eval.tasks.composer.card_plan import plan_card
from tliveomni_eval.tasks.composer.ocr_sample import (
    ALPHABET,
    FIELDS,
    IMAGE_SIZES,
    LANGUAGES,
    LINE_COUNTS,
    PROMPTS,
    QUALITIES,
    TEXT_HEIGHTS,
    OcrSample,
    compose_ocr_sample,
    corpus,
)

VALUES = [
    *(("field", value) for value in FIELDS),
    *(("lang", value) for value in LANGUAGES),
    *(("text_px", value) for value in TEXT_HEIGHTS),
    *(("quality", value) for value in QUALITIES),
    *(("lines", value) for value in LINE_COUNTS),
]


def fingerprint(sample: OcrSample) -> tuple[object, ...]:
    return sample.image.tobytes(), sample.prompt, sample.reference, sorted(sample.slices.items())


def test_the_same_arguments_give_the_same_sample_and_other_seeds_another() -> None:
    first = [fingerprint(compose_ocr_sample(seed, "train")) for seed in range(12)]
    again = [fingerprint(compose_ocr_sample(seed, "train")) for seed in reversed(range(12))]
    assert first == again[::-1]
    assert len({pixels for pixels, *_ in first}) == 12


def test_threads_do_not_disturb_each_other() -> None:
    alone = [fingerprint(compose_ocr_sample(seed, "eval")) for seed in range(24)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda seed: fingerprint(compose_ocr_sample(seed, "eval")), range(24)))
    assert together == alone


@pytest.mark.parametrize(("attribute", "value"), VALUES)
def test_a_wanted_slice_value_is_what_the_sample_has(attribute: str, value: str) -> None:
    for seed in range(4):
        sample = compose_ocr_sample(seed, "eval", target_values={attribute: value})
        assert sample.slices[attribute] == value


@given(
    seed=st.integers(),
    side=st.sampled_from(["train", "eval"]),
    size=st.sampled_from([None, *IMAGE_SIZES]),
    difficulty=st.floats(0, 1),
)
@settings(max_examples=60, deadline=None)
def test_every_sample_keeps_what_its_slices_say(
    seed: int, side: str, size: tuple[int, int] | None, difficulty: float
) -> None:
    sample = compose_ocr_sample(seed, side, size=size, difficulty=difficulty)  # type: ignore[arg-type]
    assert sample.image.mode == "RGB"
    assert sample.image.size == (size or sample.image.size)
    assert sample.image.size in IMAGE_SIZES
    assert not any(side_px % 32 for side_px in sample.image.size)
    lowest, highest = TEXT_HEIGHTS[sample.slices["text_px"]]
    assert lowest <= sample.text_height <= highest
    fewest, most = LINE_COUNTS[sample.slices["lines"]]
    assert fewest <= sample.line_count <= most
    assert sample.slices["field"] == sample.field
    assert sample.prompt == PROMPTS[sample.field, "en" if sample.slices["lang"] == "en" else "zh"]
    assert sample.reference.strip() == sample.reference != ""
    assert set(sample.prompt + sample.reference) <= set(ALPHABET)


def test_difficulty_zero_is_one_large_clean_line() -> None:
    for seed in range(20):
        sample = compose_ocr_sample(seed, "train", difficulty=0)
        assert (sample.slices["text_px"], sample.slices["quality"], sample.line_count) == ("27+", "clean", 1)
        assert sample.field != "table"


def test_difficulty_one_reaches_every_slice_value() -> None:
    seen = {item for seed in range(120) for item in compose_ocr_sample(seed, "train").slices.items()}
    assert seen == set(VALUES)


def test_the_asked_text_is_drawn_as_the_reference_states_it() -> None:
    checked = dict.fromkeys(FIELDS, 0)
    for seed in range(600):
        rng = random.Random(seed)
        values = {
            "field": rng.choice(FIELDS),
            "lang": rng.choice(LANGUAGES),
            "lines": rng.choice(["2-3", "4+"]),
            "quality": "clean",
            "text_px": rng.choice(list(TEXT_HEIGHTS)),
        }
        plan = plan_card(rng, "eval", values, (640, 384), hurry=0.0)
        if plan is None:
            continue
        tables = [block.cells for block in plan.card.blocks if isinstance(block, Table)]
        rows = [block for block in plan.card.blocks if not isinstance(block, Table)]
        asked = [segment.text for row in rows for segment in row.segments if segment.asked]
        if plan.field == "table":
            header, _, *body = plan.reference.split("\n")
            assert [[cell.strip() for cell in line.strip("|").split("|")] for line in (header, *body)] == tables[0]
        elif plan.field == "price":
            digits = [text.strip("¥￥$元RMB ") for text in asked]
            assert [plan.reference[1:]] == digits
            assert plan.reference[0] == ("$" if asked[0].startswith("$") else "¥")
            # A price that is shown beside it is struck through, and higher.
            struck = [segment.text for row in rows for segment in row.segments if segment.struck]
            assert all(
                float(text.strip("¥￥$元RMB ").split()[-1].strip("¥￥$元RMB")) > float(digits[0]) for text in struck
            )
        else:
            assert plan.reference in ("".join(asked), " ".join(asked))
        checked[plan.field] += 1
    assert min(checked.values()) > 20


def test_the_alphabet_covers_the_corpus_and_stays_small() -> None:
    assert set("".join(corpus())) <= set(ALPHABET)
    assert sum("一" <= character <= "鿿" for character in ALPHABET) <= 900


def test_a_broken_line_keeps_numbers_and_words_whole() -> None:
    assert split_in_two("Velora Rose Serum 30ml") == ("Velora Rose", "Serum 30ml")
    assert split_in_two("沐禾玻尿酸面霜50ml") == ("沐禾玻尿酸", "面霜50ml")
    assert split_in_two("Velora") is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target_values": {"quality": "foggy"}}, "'foggy'"),
        ({"target_values": {"colour": "red"}}, "'colour'"),
        ({"size": (100, 100)}, r"\(100, 100\)"),
        ({"difficulty": 1.5}, "1.5"),
        ({"field": "price", "target_values": {"field": "sku"}}, "contradicts"),
        ({"target_values": {"field": "table", "lines": "1"}}, "no card"),
    ],
)
def test_impossible_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compose_ocr_sample(1, "eval", **arguments)  # type: ignore[arg-type]


def test_an_unknown_side_is_named() -> None:
    with pytest.raises(ValueError, match="'test'"):
        compose_ocr_sample(1, "test")  # type: ignore[arg-type]
