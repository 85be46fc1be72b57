"""What `live_asr.yaml` refers to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.metrics.asr import score_asr
from tliveomni_eval.tasks import live_task
from tliveomni_eval.tasks.live_asr.asr_prompt import asr_prompt
from tliveomni_eval.tasks.live_task import answered_share, messages, prompt, ratio, record, reference_text, visuals
from tliveomni_eval.tasks.speech_sample import hotword_list, speech_language

__all__ = ["LiveTask", "answered_share", "messages", "process_results", "prompt", "ratio", "reference_text", "visuals"]


class LiveTask(live_task.LiveTask):
    """Documents without a prompt of their own get the task's, in the language of the speech and with its hotwords."""

    def prepared(self, doc: dict[str, Any]) -> dict[str, Any]:
        """Add the task's own prompt where the sample has none."""
        context = json.loads(doc["context"])
        return doc | {"prompt": doc["prompt"] or asr_prompt(speech_language(context), hotword_list(context))}


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
    """Score one transcript.

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.

    Returns:
        `{"id", "num", "den"}` for each metric that says something of this sample, and the `record`.
    """
    context = json.loads(doc["context"])
    score = score_asr(
        json.loads(doc["reference"]),
        results[0],
        lang=speech_language(context),
        hotwords=hotword_list(context),
        prompt=doc["prompt"],
    )
    logged = {name: counts.logged(doc["id"]) for name, counts in score.counts.items()}
    return logged | {"record": record(doc, score.status, score.detail)}
