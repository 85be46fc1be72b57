"""What `live_chart.yaml` refers to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.metrics.number_answer import score_chart_value
from tliveomni_eval.tasks.live_task import LiveTask, answered_share, messages, prompt, ratio, reference_text, visuals
from tliveomni_eval.tasks.scored_sample import logged_score

__all__ = ["LiveTask", "answered_share", "messages", "process_results", "prompt", "ratio", "reference_text", "visuals"]


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
    """Score one answer.

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.
    """
    return logged_score(doc, score_chart_value(reference_text(doc), results[0]))
