"""What `live_caption.yaml` refers to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.metrics.fact_recall import score_fact_recall
from tliveomni_eval.tasks import live_task
from tliveomni_eval.tasks.fact_sample import reference_facts
from tliveomni_eval.tasks.live_caption.caption_prompt import caption_prompt
from tliveomni_eval.tasks.live_task import answered_share, messages, prompt, ratio, reference_text, visuals
from tliveomni_eval.tasks.scored_sample import logged_score

__all__ = ["LiveTask", "answered_share", "messages", "process_results", "prompt", "ratio", "reference_text", "visuals"]


class LiveTask(live_task.LiveTask):
    """Documents have the task's own prompt where the sample has none."""

    def prepared(self, doc: dict[str, Any]) -> dict[str, Any]:
        """Add the prompt."""
        context = json.loads(doc["context"])
        return doc | {"prompt": doc["prompt"] or caption_prompt(context.get("lang", "zh"))}


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
    """Score one answer.

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.

    Returns:
        `{"id", "num", "den"}` for each metric and the `record`.
    """
    return logged_score(doc, score_fact_recall(reference_facts(json.loads(doc["reference"])), results[0]))
