"""Boxes in a model's answer: strict about what they mean, lenient about how they are wrapped.

Read are the JSON of Qwen-VL (`[{"bbox_2d": [x1, y1, x2, y2], "label": "cup"}]`), lists of four numbers, objects with
named corners, and the grounding markup of Qwen-VL and InternVL (`<ref>cup</ref><box>(10,20),(30,40)</box>`), each with
text or code fences around. The order is x1, y1, x2, y2; the coordinate space is the caller's to declare.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tliveomni_eval.evals.metrics.embedded_json import find_json
from tliveomni_eval.evals.metrics.model_output import ModelOutput

MAX_BOXES = 100
"""Boxes that are read from one answer, the most that COCO counts in an image."""

_BOX_KEYS = ("bbox_2d", "bbox", "box", "box_2d", "bounding_box", "boundingbox", "coordinates", "边界框", "坐标")
_LABEL_KEYS = ("label", "name", "class", "category", "object", "标签", "类别", "名称")
_SCORE_KEYS = ("score", "confidence", "probability", "置信度")
_CORNER_KEYS = (("x1", "y1", "x2", "y2"), ("xmin", "ymin", "xmax", "ymax"), ("left", "top", "right", "bottom"))
_CONTAINER_KEYS = ("boxes", "bboxes", "objects", "detections", "results", "products", "items", "answer")
_MAX_COORDINATE = 1e7

_NUMBER = r"-?\d{1,7}(?:\.\d{1,9})?"
_COMMA = r"\s*,\s*"
_POINT = rf"\(\s*({_NUMBER}){_COMMA}({_NUMBER})\s*\)"
_MARKUP = re.compile(
    r"(?:(?:<ref>|<\|object_ref_start\|>)(?P<label>[^<]{0,200})(?:</ref>|<\|object_ref_end\|>)\s*)?"
    r"(?:<box>|<\|box_start\|>)(?P<inside>[^<]{0,4000})(?:</box>|<\|box_end\|>)"
)
_CORNER_PAIR = re.compile(rf"{_POINT}\s*,?\s*{_POINT}")
_FOUR = re.compile(
    rf"(?<![\d.,-])(?<!,\s)({_NUMBER}){_COMMA}({_NUMBER}){_COMMA}({_NUMBER}){_COMMA}({_NUMBER})(?!\s*,\s*-?\d|\.?\d)"
)
_BRACKETED_FOUR = re.compile(rf"[(\[<]\s*({_NUMBER}){_COMMA}({_NUMBER}){_COMMA}({_NUMBER}){_COMMA}({_NUMBER})\s*[)\]>]")
_SINGLE_QUOTED = re.compile(r"'([^'\"\n]{0,200})'(?=\s*[:,}\]])")
_NOTHING = re.compile(
    r"^\W*(?:无|没有|none|null|nil|n/?a|no)\W*$"
    r"|\bno\s+(?:such|matching|\w+\s+(?:is|are|was|were)|objects?|products?|instances?|box(?:es)?|detections?)\b"
    r"|\bthere\s+(?:is|are)\s+(?:no|none|not any)\b"
    r"|\bnot\s+(?:found|present|visible|in\s+(?:the|this)\s+(?:image|picture|photo))"
    r"|没有?(?:找到|发现|出现|看到|检测到|该|此|这|那|相关|符合)|不存在|未(?:找到|发现|出现|检测到)|不在(?:图|画面)|图中无",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ParsedBox:
    """A box as stated, in the coordinate space of the answer.

    Attributes:
        box: x1, y1, x2, y2; may be reversed or empty, which is a wrong answer and not an error.
        label: As stated, or None.
        score: Confidence as stated, or None.
    """

    box: tuple[float, float, float, float]
    label: str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class BoxAnswer:
    """What an answer says.

    Attributes:
        boxes: In the order stated, at most `MAX_BOXES`.
        refused: Boxes with something else than four finite numbers; each is a false positive.
        parsed: True when boxes were found or the answer says that there are none.
        incomplete: True when the answer broke off inside a list of boxes.
    """

    boxes: tuple[ParsedBox, ...]
    refused: int
    parsed: bool
    incomplete: bool = False


def parse_boxes(output: ModelOutput) -> BoxAnswer:
    """Reads the boxes of an answer.

    Args:
        output: The prepared output.

    Returns:
        The boxes, or that there are none, or that neither could be read (`parsed=False`). Of an object that breaks off
        at the token limit nothing is read; the complete ones before it are.
    """
    text = output.text
    if not text:
        return BoxAnswer((), 0, False)
    markup = list(_boxes_in_markup(text))
    if markup:
        return BoxAnswer(tuple(markup[:MAX_BOXES]), 0, True)
    found = find_json(text)
    if not found.values and "'" in text:
        found = find_json(_SINGLE_QUOTED.sub(r'"\1"', text))
    items = [item for value in found.values for item in _boxes_in_json(value)]
    boxes = [item for item in items if item is not None]
    refused = min(len(items) - len(boxes), MAX_BOXES)
    if not items and not any(isinstance(value, dict) for value in found.values):
        boxes = list(_boxes_in_prose(text))
    if boxes or refused:
        return BoxAnswer(tuple(boxes[:MAX_BOXES]), refused, True, found.incomplete)
    says_none = any(_says_none(value) for value in found.values) or _NOTHING.search(text) is not None
    return BoxAnswer((), 0, says_none, found.incomplete)


def _boxes_in_markup(text: str) -> Iterable[ParsedBox]:
    for match in _MARKUP.finditer(text):
        label = match["label"].strip() if match["label"] else None
        for numbers in [*_CORNER_PAIR.findall(match["inside"]), *_FOUR.findall(match["inside"])]:
            x1, y1, x2, y2 = (float(number) for number in numbers)
            yield ParsedBox((x1, y1, x2, y2), label)


def _boxes_in_prose(text: str) -> Iterable[ParsedBox]:
    for numbers in _CORNER_PAIR.findall(text) or _BRACKETED_FOUR.findall(text) or _FOUR.findall(text):
        x1, y1, x2, y2 = (float(number) for number in numbers)
        yield ParsedBox((x1, y1, x2, y2))


def _boxes_in_json(value: Any) -> Iterable[ParsedBox | None]:
    """Yields each box; None for one that is refused."""
    if isinstance(value, dict):
        fields = {str(key).strip().lower(): item for key, item in value.items()}
        label = next((fields[key] for key in _LABEL_KEYS if isinstance(fields.get(key), str)), None)
        score = _as_number(next((fields[key] for key in _SCORE_KEYS if key in fields), None))
        stated = next((fields[key] for key in _BOX_KEYS if key in fields), None)
        for corners in _CORNER_KEYS:
            if stated is None and all(corner in fields for corner in corners):
                stated = [fields[corner] for corner in corners]
        if stated is None:
            for key, item in value.items():
                yield from _labelled(_boxes_in_json(item) if isinstance(item, dict | list) else (), label, key, item)
        elif isinstance(stated, list) and stated and all(isinstance(item, list) and len(item) != 2 for item in stated):
            for item in stated:
                yield _as_box(item, label, score)
        else:
            yield _as_box(stated, label, score)
    elif isinstance(value, list):
        if len(value) == 4 and not any(isinstance(item, dict | list) for item in value):
            if all(isinstance(item, int | float) for item in value) or any(
                _as_number(item) is not None for item in value
            ):
                yield _as_box(value, None, None)
            return
        for item in value:
            if isinstance(item, dict | list):
                yield from _boxes_in_json(item)


def _labelled(boxes: Iterable[ParsedBox | None], label: str | None, key: str, item: Any) -> Iterable[ParsedBox | None]:
    """Boxes under a key: `{"cup": [1, 2, 3, 4]}` names its box by the key, `{"objects": [[…]]}` does not."""
    names_itself = isinstance(item, list) and key.strip().lower() not in _CONTAINER_KEYS
    for box in boxes:
        if box is None or box.label is not None:
            yield box
        else:
            yield ParsedBox(box.box, label or (key if names_itself else None), box.score)


def _as_box(stated: Any, label: str | None, score: float | None) -> ParsedBox | None:
    if isinstance(stated, str):
        stated = re.findall(_NUMBER, stated[:200])
    if isinstance(stated, list) and len(stated) == 2 and all(isinstance(p, list) and len(p) == 2 for p in stated):
        stated = [*stated[0], *stated[1]]
    if not isinstance(stated, list) or len(stated) != 4:
        return None
    numbers = [_as_number(item) for item in stated]
    x1, y1, x2, y2 = numbers
    if x1 is None or y1 is None or x2 is None or y2 is None:
        return None
    return ParsedBox((x1, y1, x2, y2), label.strip() if label else None, score)


def _as_number(value: Any) -> float | None:
    """A finite coordinate or score; numbers in quotes count, booleans and NaN do not."""
    if isinstance(value, str) and re.fullmatch(_NUMBER, value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= _MAX_COORDINATE else None


def _says_none(value: Any) -> bool:
    """True for `[]`, `{}`, `{"objects": []}`, `{"bbox_2d": null}`."""
    return value in ([], {}) or (isinstance(value, dict) and any(item in ([], None) for item in value.values()))
