"""What `live_selling_points.yaml` refers to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.metrics.selling_points import score_selling_points
from tliveomni_eval.tasks import live_task
from tliveomni_eval.tasks.fact_sample import reference_facts
from tliveomni_eval.tasks.live_selling_points.selling_points_prompt import selling_points_prompt
from tliveomni_eval.tasks.live_task import answered_share, messages, prompt, ratio, reference_text, visuals
from tliveomni_eval.tasks.scored_sample import logged_score

__all__ = ["LiveTask", "answered_share", "messages", "process_results", "prompt", "ratio", "reference_text", "visuals"]


class LiveTask(live_task.LiveTask):
    """Documents have the task's own prompt where the sample has none."""

    def prepared(self, doc: dict[str, Any]) -> dict[str, Any]:
        """Add the prompt."""
        context = json.loads(doc["context"])
        return doc | {
            "prompt": doc["prompt"] or selling_points_prompt(context.get("lang", "zh"), context.get("evidence", "seen"))
        }


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
    """Score one answer.

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.

    Returns:
        `{"id", "num", "den"}` for each metric and the `record`.
    """
    return logged_score(doc, score_selling_points(reference_facts(json.loads(doc["reference"])), results[0]))
