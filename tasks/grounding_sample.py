"""What a manifest line of live_localization and live_temporal_grounding holds: read for the scorers, and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, get_args

from tliveomni_eval.evals.metrics.average_precision import ReferenceBox
from tliveomni_eval.evals.metrics.localization import CoordinateSpace
from tliveomni_eval.evals.metrics.temporal_span import TimeFormat
from tliveomni_eval.tasks.manifest import Fault, Sample

PROMPT_LANGUAGES = ("zh", "en")
SPACES: tuple[CoordinateSpace, ...] = get_args(CoordinateSpace)
TIME_FORMATS: tuple[TimeFormat, ...] = get_args(TimeFormat)


def reference_boxes(reference: Any) -> tuple[ReferenceBox, ...]:
    """The boxes of a localization reference.

    Args:
        reference: A list of `[x1, y1, x2, y2]` in pixels, or of `{"box": […], "label": …}`; empty where nothing that is
            asked for is in the image.

    Raises:
        ValueError: It is not; the message names the box, counted from 0.
    """
    if not isinstance(reference, list):
        raise ValueError(f"must be a list of [x1, y1, x2, y2] in pixels, got {reference!r:.80}")
    return tuple(_reference_box(index, item) for index, item in enumerate(reference))


def _reference_box(index: int, item: Any) -> ReferenceBox:
    box, label = (item.get("box"), item.get("label", "")) if isinstance(item, dict) else (item, "")
    numbers = _numbers(box, 4)
    if numbers is None or not isinstance(label, str):
        raise ValueError(f'box {index}: must be [x1, y1, x2, y2] or {{"box": […], "label": "…"}}, got {item!r:.80}')
    try:
        return ReferenceBox((numbers[0], numbers[1], numbers[2], numbers[3]), label)
    except ValueError as error:
        raise ValueError(f"box {index}: {error}") from None


def reference_spans(reference: Any) -> tuple[tuple[float, float], ...]:
    """The spans of a temporal grounding reference.

    Args:
        reference: A list of `[start, end]` in seconds; empty where nothing in the video answers the question.

    Raises:
        ValueError: It is not; the message names the span, counted from 0.
    """
    if not isinstance(reference, list):
        raise ValueError(f"must be a list of [start, end] in seconds, got {reference!r:.80}")
    spans = []
    for index, item in enumerate(reference):
        numbers = _numbers(item, 2)
        if numbers is None or not 0 <= numbers[0] < numbers[1]:
            raise ValueError(f"span {index}: must be [start, end] with 0 ≤ start < end in seconds, got {item!r:.80}")
        spans.append((numbers[0], numbers[1]))
    return tuple(spans)


def _numbers(value: Any, count: int) -> list[float] | None:
    if not isinstance(value, list) or len(value) != count:
        return None
    if not all(isinstance(item, int | float) and not isinstance(item, bool) and math.isfinite(item) for item in value):
        return None
    return [float(item) for item in value]


def grounding_faults(sample: Sample, number: int) -> list[Fault]:
    """What is wrong in a line of live_localization or live_temporal_grounding beyond its form.

    Args:
        sample: The line.
        number: Its line number.
    """
    is_image_task = sample.task == "live_localization"
    medium, asked = ("image", "query") if is_image_task else ("video", "question")
    faults = []
    if [media.type for media in sample.media] != [medium]:
        kinds = ", ".join(media.type for media in sample.media) or "none"
        faults.append(Fault(number, "media", f"{sample.task} takes exactly one {medium}, got {kinds}"))
    if not sample.prompt and not _is_text(sample.context, asked):
        faults.append(
            Fault(number, f"context.{asked}", "missing; give a text, or a prompt of your own that says what to find")
        )
    choices: dict[str, tuple[str, ...]] = {"lang": PROMPT_LANGUAGES}
    choices |= {"coordinate_space": tuple(SPACES)} if is_image_task else {"time_format": tuple(TIME_FORMATS)}
    for key, allowed in choices.items():
        value = sample.context.get(key, allowed[0])
        if value not in allowed:
            faults.append(Fault(number, f"context.{key}", f"must be {' or '.join(allowed)}, got {value!r:.80}"))
    try:
        (reference_boxes if is_image_task else reference_spans)(sample.reference)
    except ValueError as error:
        faults.append(Fault(number, "reference", str(error)))
    return faults


def _is_text(context: Mapping[str, Any], key: str) -> bool:
    value = context.get(key)
    return isinstance(value, str) and bool(value.strip())
