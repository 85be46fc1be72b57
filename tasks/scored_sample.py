"""What `process_results` returns for a sample, from what a scorer returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.metrics.sample_score import SampleScore
from tliveomni_eval.tasks.live_task import record


def logged_score(doc: Mapping[str, Any], score: SampleScore) -> dict[str, Any]:
    """`{"id", "num", "den"}` for each metric of the score, and the `record`.

    Args:
        doc: Document of `LiveTask`.
        score: The scored answer.
    """
    metrics = {name: counts.logged(doc["id"]) for name, counts in score.counts.items()}
    return {**metrics, "record": record(doc, score.status, score.detail)}
