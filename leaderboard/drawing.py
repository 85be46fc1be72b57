"""What the viewer draws over an image or along a recording: boxes, spans and speaker turns, from a scorer's detail."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from tliveomni_eval.leaderboard.task_page_data import Drawing, DrawnBox, DrawnSpan, DrawnTurn

_MOST_DRAWN = 400
_LONGEST_TURN_TEXT = 300


def predicted_drawing(detail: Mapping[str, Any]) -> Drawing:
    """What a run predicted: `predicted` (boxes or spans), and `turns` with the speakers `mapping` matched them to."""
    mapping = detail.get("mapping")
    names = {str(key): str(value) for key, value in mapping.items()} if isinstance(mapping, Mapping) else {}
    boxes, spans = _boxes_and_spans(detail.get("predicted"))
    return Drawing(boxes=boxes, spans=spans, turns=_turns(detail.get("turns"), names))


def reference_drawing(detail: Mapping[str, Any], target: str) -> Drawing:
    """What is right: `reference` of the detail; speaker turns come from the target, which is their JSON.

    Args:
        detail: A scorer's detail of any run.
        target: The logged target.
    """
    boxes, spans = _boxes_and_spans(detail.get("reference"))
    turns = _turns(_json(target), {}) if "turns" in detail else []
    return Drawing(boxes=boxes, spans=spans, turns=turns)


def _json(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value.get("turns") if isinstance(value, dict) else value


def _boxes_and_spans(items: Any) -> tuple[list[DrawnBox], list[DrawnSpan]]:
    boxes: list[DrawnBox] = []
    spans: list[DrawnSpan] = []
    for item in items[:_MOST_DRAWN] if isinstance(items, list) else []:
        if isinstance(item, Mapping):
            corners = _numbers(item.get("box"), 4)
            score = item.get("score")
            if corners:
                label = item.get("label")
                boxes.append(
                    DrawnBox(
                        box=(corners[0], corners[1], corners[2], corners[3]),
                        label=label if isinstance(label, str) else "",
                        score=float(score) if isinstance(score, int | float) and math.isfinite(score) else None,
                    )
                )
        elif ends := _numbers(item, 2):
            spans.append(DrawnSpan(start=ends[0], end=ends[1]))
    return boxes, spans


def _turns(items: Any, names: Mapping[str, str]) -> list[DrawnTurn]:
    turns = []
    for item in items[:_MOST_DRAWN] if isinstance(items, list) else []:
        if isinstance(item, Mapping):
            item = [item.get(key) for key in ("speaker", "start", "end", "text")]
        if isinstance(item, list) and len(item) >= 3 and (ends := _numbers(item[1:3], 2)):
            speaker, text = str(item[0]), item[3] if len(item) > 3 and isinstance(item[3], str) else ""
            turns.append(
                DrawnTurn(
                    speaker=speaker,
                    matched=names.get(speaker, "" if names else speaker),
                    start=ends[0],
                    end=ends[1],
                    text=text[:_LONGEST_TURN_TEXT],
                )
            )
    return turns


def _numbers(value: Any, count: int) -> list[float]:
    """`count` finite numbers, or nothing."""
    if not isinstance(value, list) or len(value) != count:
        return []
    if not all(isinstance(part, int | float) and not isinstance(part, bool) and math.isfinite(part) for part in value):
        return []
    return [float(part) for part in value]
