"""What `live_temporal_grounding.yaml` refers to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.metrics.temporal_grounding import score_temporal_grounding
from tliveomni_eval.tasks import live_task
from tliveomni_eval.tasks.grounding_sample import reference_spans
from tliveomni_eval.tasks.live_task import answered_share, messages, prompt, ratio, reference_text, visuals
from tliveomni_eval.tasks.live_temporal_grounding.grounding_prompt import grounding_prompt
from tliveomni_eval.tasks.scored_sample import logged_score

__all__ = ["LiveTask", "answered_share", "messages", "process_results", "prompt", "ratio", "reference_text", "visuals"]


class LiveTask(live_task.LiveTask):
    """Documents have the task's own prompt where the sample has none."""

    def prepared(self, doc: dict[str, Any]) -> dict[str, Any]:
        """Add the prompt: the question and the form of the answer."""
        context = json.loads(doc["context"])
        asked = doc["prompt"] or grounding_prompt(
            context["question"], context.get("lang", "zh"), context.get("time_format", "seconds")
        )
        return doc | {"prompt": asked}


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
    """Score one answer.

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.

    Returns:
        `{"id", "num", "den"}` for each metric and the `record`.
    """
    context = json.loads(doc["context"])
    score = score_temporal_grounding(
        reference_spans(json.loads(doc["reference"])),
        results[0],
        time_format=context.get("time_format", "seconds"),
    )
    return logged_score(doc, score)
