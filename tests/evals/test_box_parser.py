from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tliveomni_eval.evals.metrics.box_parser import MAX_BOXES, parse_boxes
from tliveomni_eval.evals.metrics.model_output import read_output

Item = tuple[tuple[float, ...], str | None]


def boxes(text: str) -> list[Item]:
    return [(item.box, item.label) for item in parse_boxes(read_output(text)).boxes]


@pytest.mark.parametrize(
    "text",
    [
        '[{"bbox_2d": [10, 20, 30, 40], "label": "cup"}]',
        '```json\n[\n\t{"bbox_2d": [10, 20, 30, 40], "label": "cup"}\n]\n```',
        'The cup is here: {"bbox_2d": [10, 20, 30, 40], "label": "cup"}. Anything else?',
        '{"objects": [{"box": ["10", "20", "30", "40"], "name": "cup"}]}',
        '{"label": "cup", "bbox": "10, 20, 30, 40"}',
        '{"label": "cup", "bbox": [[10, 20], [30, 40]]}',
        '{"label": "cup", "bbox_2d": [[10, 20, 30, 40]]}',
        '{"label": "cup", "x1": 10, "y1": 20, "x2": 30, "y2": 40}',
        '{"label": "cup", "boxes": [[10, 20, 30, 40]]}',
        '{"cup": [10, 20, 30, 40]}',
        "[{'bbox_2d': [10, 20, 30, 40], 'label': 'cup'}]",
        "<ref>cup</ref><box>(10,20),(30,40)</box>",
        "<ref>cup</ref><box>[[10, 20, 30, 40]]</box>",
        "<|object_ref_start|>cup<|object_ref_end|><|box_start|>(10,20),(30,40)<|box_end|>",
        '[{"bbox_2d": [10, 20, 30, 40], "label": "cup"}, {"bbox_2d": [50, 60,',
        '[{"bbox_2d": [１０, ２０, ３０, ４０], "label": "cup"}]',
    ],
)
def test_the_same_labelled_box_in_many_wrappings(text: str) -> None:
    assert boxes(text) == [((10.0, 20.0, 30.0, 40.0), "cup")]


@pytest.mark.parametrize(
    "text",
    [
        "[10, 20, 30, 40]", "[[10, 20, 30, 40]]", "10, 20, 30, 40", "(10, 20), (30, 40)", "bbox: [10.0, 20, 30, 40]",
        "It stands at (10,20,30,40) on the shelf.", "<box>10, 20, 30, 40</box>", '{"bbox_2d": [10, 20, 30, 40]}',
        '{"objects": [[10, 20, 30, 40]]}', '"bbox_2d": [10, 20, 30, 40],',
    ],
)  # fmt: skip
def test_a_box_without_label(text: str) -> None:
    assert boxes(text) == [((10.0, 20.0, 30.0, 40.0), None)]


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"objects": []}',
        '{"bbox_2d": null}',
        "None",
        "无",
        "no such product",
        "There is no cup.",
        "图中没有该商品",
        "未找到",
    ],
)
def test_none_is_an_answer(text: str) -> None:
    read = parse_boxes(read_output(text))
    assert (read.boxes, read.refused, read.parsed) == ((), 0, True)


@pytest.mark.parametrize(
    "text", ["", "the red one", "[1, 2, 3]", "[1, 2, 3, 4, 5]", "12 apples", "<box>here</box>", '"a"']
)
def test_what_is_no_box_is_unparsed(text: str) -> None:
    read = parse_boxes(read_output(text))
    assert (read.boxes, read.refused, read.parsed) == ((), 0, False)


@pytest.mark.parametrize(
    "text",
    [
        '{"bbox_2d": [NaN, 2, 3, 4]}', '{"bbox_2d": [1e400, 2, 3, 4]}', '{"bbox_2d": [true, 2, 3, 4]}',
        "[NaN, 1, 2, 3]", '{"bbox_2d": [1, 2, 3], "label": "cup"}', '{"bbox_2d": {"x": 1}}', '{"bbox_2d": "left"}',
    ],
)  # fmt: skip
def test_a_box_without_four_finite_numbers_is_refused_and_counted(text: str) -> None:
    read = parse_boxes(read_output(text))
    assert (read.boxes, read.refused, read.parsed) == ((), 1, True)


def test_scores_and_several_boxes() -> None:
    read = parse_boxes(read_output('{"bbox": [1, 2, 3, 4], "score": 0.9} and {"bbox": [5, 6, 7, 8], "score": true}'))
    assert [item.score for item in read.boxes] == [0.9, None]
    assert boxes('{"cup": [[1, 2, 3, 4], [5, 6, 7, 8]]}') == [((1, 2, 3, 4), "cup"), ((5, 6, 7, 8), "cup")]
    assert len(boxes("[1,2,3,4]," * 500)) == MAX_BOXES


def test_an_answer_that_breaks_off_says_so() -> None:
    assert parse_boxes(read_output('[[1,2,3,4],[5,6,7,8],{"bbox_2d":[9,')).incomplete
    assert not parse_boxes(read_output("[[1,2,3,4]]")).incomplete


coordinates = st.floats(0, 5000).map(lambda value: round(value, 2))


@given(st.lists(st.tuples(st.tuples(*[coordinates] * 4), st.text("abc 杯", min_size=1)), max_size=9), st.booleans())
def test_written_boxes_are_read_back(items: list[tuple[tuple[float, ...], str]], fenced: bool) -> None:
    text = json.dumps([{"bbox_2d": list(box), "label": label} for box, label in items], ensure_ascii=False)
    expected = [(box, label.strip() or None) for box, label in items]
    read = [(box, label or None) for box, label in boxes(f"Sure:\n```json\n{text}\n```" if fenced else text)]
    assert read == expected
