import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from tliveomni_eval.evals.metrics.anls import anls
from tliveomni_eval.evals.metrics.edit_similarity import edit_similarity, edit_spans
from tliveomni_eval.evals.metrics.ocr import (
    MAX_OUTPUT_CHARS,
    MAX_TABLE_CHARS,
    OCR_FIELDS,
    OcrField,
    OcrScore,
    score_ocr,
)
from tliveomni_eval.evals.record import Counts
from tliveomni_eval.evals.text.width import fold_spaces, fold_width
from tliveomni_eval.evals.text.wrapping import unwrap

REFERENCES: dict[OcrField, str] = {
    "price": "¥19.9",
    "sku": "AB-1020-X",
    "name": "雅诗兰黛 小棕瓶 50ml",
    "promo": "满199减20 Buy 1 get 1",
    "table": "| 规格 | 价格 |\n|---|---|\n| 50ml | ¥19.9 |",
}


def all_counts(score: OcrScore) -> list[float]:
    counts = [score.field_exact, score.edit_similarity, score.anls] + ([score.teds] if score.teds else [])
    assert all(count.den == 1 for count in counts)
    return [count.num for count in counts]


@pytest.mark.parametrize("field", OCR_FIELDS)
def test_the_reference_itself_scores_1_everywhere(field: OcrField) -> None:
    score = score_ocr(REFERENCES[field], REFERENCES[field], field)
    assert set(all_counts(score)) == {1.0}
    assert score.status == "ok"
    assert (score.teds is not None) == (field == "table")


@pytest.mark.parametrize("field", OCR_FIELDS)
@pytest.mark.parametrize("output", ["", " \n\t", "```\n```", "\ufeff"])
def test_an_empty_output_is_wrong_and_says_so(field: OcrField, output: str) -> None:
    score = score_ocr(REFERENCES[field], output, field)
    assert set(all_counts(score)) == {0.0}
    assert score.status == "empty"


def test_a_failed_request_is_an_error_and_wrong() -> None:
    score = score_ocr("¥19.9", None, "price")
    assert score.status == "error"
    assert score.counts == {name: Counts(0, 1) for name in ("field_exact", "edit_similarity", "anls")}
    assert "teds" in score_ocr(REFERENCES["table"], None, "table").counts


def test_reasoning_is_no_part_of_the_answer() -> None:
    assert score_ocr("¥19.9", "<think>199?</think>¥19.9", "price").field_exact.num == 1
    assert score_ocr("¥19.9", "<think>¥19.9", "price").status == "empty"


@pytest.mark.parametrize(
    ("field", "output", "exact"),
    [
        ("price", "价格是￥19.90", 1),
        ("price", "```\n19.9元\n```", 1),
        ("price", "¥199", 0),
        ("price", "19.9 or 29.9", 0),
        ("sku", " `AB-1020-X`\n", 1),
        ("sku", '"AB-1020-X"', 1),
        ("sku", "ab-1020-x", 0),
        ("sku", "AB-102O-X", 0),
        ("sku", "AB 1020 X", 0),
        ("sku", "AB1020X", 0),
        ("name", "雅诗兰黛小棕瓶 ５０ｍｌ", 1),
        ("name", "“雅诗兰黛 小棕瓶\n50ml”", 1),
        ("name", "雅诗兰黛小棕瓶 5.0ml", 0),
        ("promo", "满199减20 Buy  1 get 1", 1),
        ("promo", "满199减20 Buy 1 get1", 0),
        ("promo", "满1.99减20 Buy 1 get 1", 0),
        ("table", "<table><tr><th>规格<th>价格<tr><td>50ml<td>￥19.9</table>", 1),
        ("table", "| 规格 | 价格 |\n|---|---|\n| 50ml | ¥199 |", 0),
    ],
)
def test_field_exact(field: OcrField, output: str, exact: int) -> None:
    score = score_ocr(REFERENCES[field], output, field)
    assert score.field_exact.num == exact
    assert score.status == "ok"


@pytest.mark.parametrize(
    ("field", "output"), [("price", "no idea"), ("price", "50ml"), ("table", "规格 50ml 价格 ¥19.9")]
)
def test_an_output_of_another_kind_is_unparsed_and_wrong(field: OcrField, output: str) -> None:
    score = score_ocr(REFERENCES[field], output, field)
    assert score.status == "unparsed"
    assert score.field_exact.num == 0
    assert score.teds is None or score.teds.num == 0


@pytest.mark.parametrize("field", OCR_FIELDS)
def test_a_long_output_is_cut_at_the_stated_limit(field: OcrField) -> None:
    limit = MAX_TABLE_CHARS if field == "table" else MAX_OUTPUT_CHARS
    score = score_ocr(REFERENCES[field], REFERENCES[field] + " x" * limit, field)
    assert score.status == "truncated"
    assert score.detail["cut_at_chars"] == limit


def test_a_table_with_too_many_cells_is_truncated() -> None:
    score = score_ocr(REFERENCES["table"], "| 1 | 2 |\n" * 500, "table")
    assert score.status == "truncated"
    assert score.field_exact.num == 0


def test_details_say_what_was_compared() -> None:
    score = score_ocr("¥19.9", "￥199 ", "price")
    assert score.detail["reference"] == "¥19.9" and score.detail["hypothesis"] == "¥199"
    assert score.detail["hypothesis_prices"] == ["CNY 199"]
    assert score.detail["edits"] == [("delete", 3, 4, 3, 3)]
    table = score_ocr(REFERENCES["table"], REFERENCES["table"], "table")
    assert table.detail["hypothesis_rows"] == [["规格", "价格"], ["50ml", "¥19.9"]]


@pytest.mark.parametrize(
    ("field", "reference", "message"),
    [
        ("price", "free", "'free'"),
        ("price", "¥1 or ¥2", "one price"),
        ("table", "text", "no table"),
        ("sku", " ", "empty"),
        ("table", "| 1 | 2 |\n" * 500, "more than"),
        ("logo", "x", "unknown OCR field 'logo'"),
    ],
)
def test_a_faulty_reference_is_refused(field: OcrField, reference: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score_ocr(reference, "x", field)


def hostile_output(rng: random.Random) -> str:
    pieces = [
        "",
        "\x00",
        "NaN",
        "-1",
        "Infinity",
        "¥",
        "￥１９．９",
        "19.9",
        "1e999",
        "9" * 400,
        "٣٤",
        "💰" * 9,
        "\ud800",
        "|",
        "|-",
        "---|",
        "\n",
        "<table>",
        "<tr>",
        "<td colspan=-1>",
        "</",
        "<!--",
        "&#0;",
        "&amp",
        "[" * 50,
        '{"a":',
        "}",
        "```",
        "**",
        '"',
        "\\|",
        "0.1.2",
        ",,,",
        "元",
        "块9",
        "万",
        "\u202e",
        "\ufeff",
        "é",
        "<br>",
        "价格是",
        " ",
        "\r\n",
        "\u2028",
        "%",
        "RMB",
    ]
    return "".join(rng.choice(pieces) for _ in range(rng.randrange(40)))


def test_ten_thousand_hostile_outputs_give_bounded_counts() -> None:
    rng = random.Random(7)
    for number in range(10_000):
        field = OCR_FIELDS[number % len(OCR_FIELDS)]
        score = score_ocr(REFERENCES[field], hostile_output(rng), field)
        assert all(0.0 <= value <= 1.0 for value in all_counts(score))
        json.dumps(score.detail)


@pytest.mark.parametrize("field", OCR_FIELDS)
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        " ",
        "9",
        "9.",
        "¥9 ",
        "\x00",
        "💰",
        "[",
        '{"a":',
        "|",
        "| 9 ",
        "|9|\n",
        "<table>",
        "<td>",
        "<b>",
        "`",
        "**",
        "```\n",
    ],
)
def test_outputs_of_a_million_characters_are_cut(field: OcrField, unit: str) -> None:
    score = score_ocr(REFERENCES[field], unit * (1_000_000 // len(unit)), field)
    assert score.status in ("truncated", "empty")
    assert len(json.dumps(score.detail)) < 200_000


@given(st.text("ab 元.¥1", max_size=12), st.text("ab 元.¥1", max_size=12))
def test_edit_similarity_is_one_minus_the_normalised_distance(first: str, second: str) -> None:
    longest = max(len(first), len(second))
    expected = 1 - Levenshtein.distance(first, second) / longest if longest else 1.0
    assert edit_similarity(first, second) == pytest.approx(expected)


@given(st.text("ab 元", max_size=12), st.text("ab 元", max_size=12))
def test_edit_spans_turn_the_reference_into_the_hypothesis(first: str, second: str) -> None:
    rebuilt, position = "", 0
    for _, start, end, read_start, read_end in edit_spans(first, second):
        rebuilt += first[position:start] + second[read_start:read_end]
        position = end
    assert rebuilt + first[position:] == second


def test_edit_spans_are_limited() -> None:
    assert len(edit_spans("ab" * 100, "ac" * 100, limit=5)) == 5


@pytest.mark.parametrize(
    ("references", "hypothesis", "expected"),
    [
        (["Coca Cola"], "  coca   COLA ", 1.0),
        (["abcd"], "abXX", 0.5),
        (["abcde"], "abXXX", 0.0),
        ([""], "", 1.0),
        (["abc"], "xyz" + " " * 100, 0.0),
        (["199"], "¥199", 0.75),
        (["x", "¥19.9"], "¥199", 0.8),
    ],
)
def test_anls(references: list[str], hypothesis: str, expected: float) -> None:
    assert math.isclose(anls(references, hypothesis), expected)


def test_anls_without_a_reference_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one reference"):
        anls([], "x")


@given(st.text())
def test_folding_keeps_points_and_currency_signs(text: str) -> None:
    folded = fold_spaces(fold_width(text))
    assert folded.count(".") == text.count(".") + text.count("．")
    assert folded.count("¥") == text.count("¥") + text.count("￥")
    assert fold_spaces(fold_width(folded)) == folded


@given(st.text("a`*\"'“” \n", max_size=20))
def test_unwrapping_twice_changes_nothing_more(text: str) -> None:
    inner = unwrap(f"`{text}`")
    assert len(inner) <= len(text) + 2
    assert unwrap('"' + "AB-1" + '"') == unwrap("```text\nAB-1\n```") == unwrap("```AB-1```") == "AB-1"
