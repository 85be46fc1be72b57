"""What `live_localization.yaml` refers to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.metrics.localization import score_localization
from tliveomni_eval.evals.metrics.set_payload import DetectionPayload, weighted_average_precision
from tliveomni_eval.tasks import live_task
from tliveomni_eval.tasks.grounding_sample import reference_boxes
from tliveomni_eval.tasks.image_file import image_size
from tliveomni_eval.tasks.live_localization.localization_prompt import declared_space, localization_prompt
from tliveomni_eval.tasks.live_task import answered_share, messages, prompt, ratio, reference_text, visuals
from tliveomni_eval.tasks.scored_sample import logged_score

__all__ = [
    "LiveTask",
    "answered_share",
    "average_precision",
    "messages",
    "process_results",
    "prompt",
    "ratio",
    "reference_text",
    "visuals",
]


class LiveTask(live_task.LiveTask):
    """Documents also have `width` and `height` of the picture in pixels and the declared `coordinate_space`."""

    def prepared(self, doc: dict[str, Any]) -> dict[str, Any]:
        """Add the picture's size, the coordinate space, and the task's own prompt where the sample has none.

        Raises:
            UserError: The picture cannot be read, or the coordinate space is not known.
        """
        context = json.loads(doc["context"])
        profiles = (self.config.metadata or {}).get("coordinate_space", {})
        space = declared_space(context, profiles, self.model_name)
        width, height = image_size(Path(doc["media"][0]["path"]))
        question = doc["prompt"] or localization_prompt(
            context["query"], context.get("label", context["query"]), context.get("lang", "zh"), space, width, height
        )
        return doc | {"prompt": question, "width": width, "height": height, "coordinate_space": space}


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
    """Score one answer.

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.

    Returns:
        `{"id", "num", "den"}` for each ratio, the payload of `ap`, and the `record`.
    """
    context = json.loads(doc["context"])
    score, payload = score_localization(
        reference_boxes(json.loads(doc["reference"])),
        results[0],
        space=doc["coordinate_space"],
        width=doc["width"],
        height=doc["height"],
        compare_labels=bool(context.get("compare_labels", False)),
    )
    return logged_score(doc, score) | {"ap": payload.logged(doc["id"])}


def average_precision(payloads: list[dict[str, Any]]) -> float:
    """lmms-eval aggregation of `ap`: COCO AP@[.5:.95] over all samples (nan where none has a reference)."""
    value = weighted_average_precision([DetectionPayload.from_logged(payload) for payload in payloads])
    return float("nan") if value is None else value
