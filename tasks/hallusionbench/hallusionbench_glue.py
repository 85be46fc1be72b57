"""What `hallusionbench.yaml` refers to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.metrics.group_payload import GroupPayload, count_groups
from tliveomni_eval.evals.metrics.hallusionbench import HallusionItem, score_hallusion
from tliveomni_eval.tasks.live_task import LiveTask, answered_share, messages, prompt, ratio, reference_text, visuals
from tliveomni_eval.tasks.scored_sample import logged_score

__all__ = [
    "LiveTask",
    "all_right_share",
    "answered_share",
    "messages",
    "process_results",
    "prompt",
    "ratio",
    "reference_text",
    "visuals",
]


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
    """Score one answer for aAcc, and as a member of its figure (fAcc) and of its question (qAcc).

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.
    """
    item = HallusionItem(**json.loads(doc["context"]), answer=json.loads(doc["reference"]))
    score, payloads = score_hallusion(item, results[0])
    grouped = {name: payload.logged(doc["id"]) | {"cluster": doc["cluster"]} for name, payload in payloads.items()}
    return logged_score(doc, score) | grouped


def all_right_share(items: list[dict[str, Any]]) -> float:
    """lmms-eval aggregation of fAcc and qAcc: groups all of whose members are right, over all groups."""
    rate = count_groups((item["cluster"], GroupPayload.from_logged(item)) for item in items).total.rate
    return float("nan") if rate is None else rate
