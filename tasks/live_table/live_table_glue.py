"""What `live_table.yaml` refers to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

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
    """Score one table by TEDS, and as exact in all cells.

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.
    """
    score = score_ocr(reference_text(doc), results[0], "table")
    assert score.teds is not None, "a table always has a TEDS"
    return {
        "teds": score.teds.logged(doc["id"]),
        "table_exact": score.field_exact.logged(doc["id"]),
        "record": record(doc, score.status, score.detail),
    }
