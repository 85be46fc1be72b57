"""What `live_unanswerable.yaml` refers to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.metrics.answerability import balanced_accuracy as balanced
from tliveomni_eval.evals.metrics.answerability import score_answerability
from tliveomni_eval.tasks.live_task import LiveTask, answered_share, messages, prompt, visuals
from tliveomni_eval.tasks.scored_sample import logged_score

__all__ = [
    "LiveTask",
    "answered_share",
    "balanced_accuracy",
    "messages",
    "process_results",
    "prompt",
    "reference_text",
    "visuals",
]


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
    """Score one of two twins.

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.
    """
    score = score_answerability(json.loads(doc["reference"]), results[0])
    metric = score.counts["balanced_accuracy"].logged(doc["id"])
    metric["answerable"] = score.detail["answerable"]
    return {**logged_score(doc, score), "balanced_accuracy": metric}


def reference_text(doc: Mapping[str, Any]) -> str:
    """What a log shows as the target: the price, or that it cannot be told."""
    reference = json.loads(doc["reference"])
    return "cannot tell" if reference is None else str(reference)


def balanced_accuracy(items: list[dict[str, Any]]) -> float:
    """lmms-eval aggregation: mean of the accuracies on answerable and on unanswerable questions."""
    value = balanced((item["answerable"], item["num"] > 0) for item in items)
    return float("nan") if value is None else value
