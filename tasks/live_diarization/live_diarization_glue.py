"""What `live_diarization.yaml` refers to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.metrics.diarization import score_diarization
from tliveomni_eval.tasks import live_task
from tliveomni_eval.tasks.live_diarization.diarization_prompt import diarization_prompt
from tliveomni_eval.tasks.live_task import answered_share, messages, prompt, ratio, record, reference_text, visuals
from tliveomni_eval.tasks.speech_sample import reference_turns, speech_language

__all__ = ["LiveTask", "answered_share", "messages", "process_results", "prompt", "ratio", "reference_text", "visuals"]


class LiveTask(live_task.LiveTask):
    """Documents without a prompt of their own get the task's, in the language of the speech."""

    def prepared(self, doc: dict[str, Any]) -> dict[str, Any]:
        """Add the task's own prompt where the sample has none."""
        return doc | {"prompt": doc["prompt"] or diarization_prompt(speech_language(json.loads(doc["context"])))}


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
    """Score the turns of one answer.

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.

    Returns:
        `{"id", "num", "den"}` for each metric and the `record`.
    """
    turns = reference_turns(json.loads(doc["reference"]))
    score = score_diarization(turns, results[0], lang=speech_language(json.loads(doc["context"])))
    logged = {name: counts.logged(doc["id"]) for name, counts in score.counts.items()}
    return logged | {"record": record(doc, score.status, score.detail)}
