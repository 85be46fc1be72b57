"""What `live_ocr.yaml` refers to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.metrics.ocr import score_ocr
from tliveomni_eval.tasks.live_task import (
    LiveTask,
    answered_share,
    messages,
    prompt,
    ratio,
    record,
    reference_text,
    visuals,
)

__all__ = ["LiveTask", "answered_share", "messages", "process_results", "prompt", "ratio", "reference_text", "visuals"]


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
    """Score one answer.

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.

    Returns:
        `{"id", "num", "den"}` for each metric and the `record`; `teds` only for tables.
    """
    context = json.loads(doc["context"])
    score = score_ocr(reference_text(doc), results[0], context["field"])
    sample_id = doc["id"]
    scored = {
        "field_exact": score.field_exact.logged(sample_id),
        "edit_similarity": score.edit_similarity.logged(sample_id),
        "anls": score.anls.logged(sample_id),
        "record": record(doc, score.status, score.detail),
    }
    if score.teds is not None:
        scored["teds"] = score.teds.logged(sample_id)
    return scored
