"""The question of live_localization: what to find, the form of the answer, and the space its coordinates are in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.metrics.localization import CoordinateSpace
from tliveomni_eval.tasks.grounding_sample import SPACES

SPACE_VARIABLE: Final = "TLIVE_COORDINATE_SPACE"

_QUESTIONS: Final = {
    "zh": "找出图中所有的{query}，被遮挡的只框可见部分。",
    "en": "Find every {query} in the picture; of one that is partly hidden, box what can be seen.",
}
_FORMS: Final = {
    "zh": '只输出 JSON 数组，每个一项：[{{"bbox_2d": [x1, y1, x2, y2], "label": "{label}"}}]，'
    "{space}；图中没有就输出 []。",
    "en": 'Answer only with a JSON array, one item each: [{{"bbox_2d": [x1, y1, x2, y2], "label": "{label}"}}], '
    "{space}. If there is none, answer [].",
}
_SPACES: Final[Mapping[tuple[CoordinateSpace, str], str]] = {
    ("relative_1000", "zh"): "坐标是 0 到 1000 的相对值",
    ("relative_1000", "en"): "coordinates relative to the picture, 0 to 1000",
    ("pixels", "zh"): "坐标是像素（图宽 {width}，图高 {height}）",
    ("pixels", "en"): "coordinates in pixels (the picture is {width} wide and {height} high)",
}


def localization_prompt(query: str, label: str, lang: str, space: CoordinateSpace, width: int, height: int) -> str:
    """The task's own prompt.

    Args:
        query: What to find, e.g. `red bottle`.
        label: Its category, as the answer is to name it.
        lang: `zh` or `en`.
        space: Of the coordinates that are asked for.
        width: Of the picture, pixels.
        height: Of the picture, pixels.
    """
    declared = _SPACES[space, lang].format(width=width, height=height)
    return (
        _QUESTIONS[lang].format(query=query)
        + ("" if lang == "zh" else " ")
        + _FORMS[lang].format(label=label, space=declared)
    )


def declared_space(
    context: Mapping[str, Any],
    profiles: Mapping[str, str],
    model_name: str | None,
    environment: Mapping[str, str] = os.environ,
) -> CoordinateSpace:
    """The coordinate space of a sample's question and answer.

    The sample's own `context.coordinate_space` is first, because its prompt may name it; then the variable
    `TLIVE_COORDINATE_SPACE`; then the model's profile, and `default` where it has none.

    Args:
        context: Of the sample.
        profiles: Name of an lmms-eval model to its space, and `default`.
        model_name: The model that is evaluated.
        environment: Where the variable is looked up.

    Raises:
        UserError: A value that is no coordinate space.
    """
    places = (
        ("context.coordinate_space", context.get("coordinate_space")),
        (SPACE_VARIABLE, environment.get(SPACE_VARIABLE)),
        (f"the profile of {model_name}", profiles.get(model_name or "", profiles.get("default", "relative_1000"))),
    )
    place, value = next((place, value) for place, value in places if value)
    for space in SPACES:
        if value == space:
            return space
    raise UserError(f"{place}={value!r} is no coordinate space; use {' or '.join(SPACES)}")
