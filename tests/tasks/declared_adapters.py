"""lmms-eval models that know the answer, or give none: what a task must score as perfect, and as nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms


class _DocumentAdapter(lmms):
    """A chat model whose answer is a function of the document."""

    is_simple = False

    def generate_until(self, requests: list[Instance]) -> list[str]:
        answers = []
        for request in requests:
            _, doc_to_messages, _, document, task, split = request.args
            assert callable(doc_to_messages)
            answers.append(self.answer(task, self.task_dict[task][split][document]))
        return answers

    def answer(self, task: str, doc: Mapping[str, Any]) -> str:
        raise NotImplementedError

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        raise NotImplementedError

    def generate_until_multi_round(self, requests: list[Instance]) -> list[str]:
        raise NotImplementedError


class OracleAdapter(_DocumentAdapter):
    """Answers with the reference in the form that the task's prompt declares."""

    def answer(self, task: str, doc: Mapping[str, Any]) -> str:
        reference = json.loads(doc["reference"])
        if task == "live_localization":
            label = json.loads(doc["context"])["label"]
            boxes = [_stated_box(box, doc) for box in reference]
            return json.dumps([{"bbox_2d": box, "label": label} for box in boxes], ensure_ascii=False)
        if task == "live_temporal_grounding":
            return json.dumps([{"start": start, "end": end} for start, end in reference])
        if task == "live_selling_points":
            return json.dumps([fact["text"] for fact in reference], ensure_ascii=False)
        if task == "live_caption":
            return ", ".join(fact["text"] for fact in reference)
        return reference if isinstance(reference, str) else json.dumps(reference, ensure_ascii=False)


class SilentAdapter(_DocumentAdapter):
    """Answers nothing."""

    def answer(self, task: str, doc: Mapping[str, Any]) -> str:
        return ""


def _stated_box(box: list[float], doc: Mapping[str, Any]) -> list[float]:
    if doc["coordinate_space"] == "pixels":
        return box
    sides = (doc["width"], doc["height"]) * 2
    return [_relative_to_1000(value, side) for value, side in zip(box, sides, strict=True)]


def _relative_to_1000(pixels: float, side: int) -> float:
    """The coordinate in 0 to 1000 that stands for exactly these pixels, or the nearest one."""
    candidates = _near(pixels * 1000 / side)
    return next((value for value in candidates if value / 1000 * side == pixels), pixels * 1000 / side)


def _near(value: float) -> Iterator[float]:
    yield value
    above = below = value
    for _ in range(8):
        above, below = math.nextafter(above, math.inf), math.nextafter(below, -math.inf)
        yield above
        yield below
