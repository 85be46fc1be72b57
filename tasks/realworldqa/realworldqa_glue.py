"""What `realworldqa.yaml` refers to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.metrics.choice_answer import read_choice
from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.option_text import normalise_answer_text
from tliveomni_eval.evals.metrics.sample_score import SampleScore
from tliveomni_eval.evals.record import Counts
from tliveomni_eval.evals.text.spoken_numbers import english_numbers_to_digits
from tliveomni_eval.tasks.live_task import LiveTask, answered_share, messages, prompt, ratio, reference_text, visuals
from tliveomni_eval.tasks.scored_sample import logged_score

__all__ = ["LiveTask", "answered_share", "messages", "process_results", "prompt", "ratio", "reference_text", "visuals"]


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
    """Score one answer: a choice by our grammar, an open one as equal after case, article and number words.

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.
    """
    reference, options = reference_text(doc), json.loads(doc["context"])["options"]
    if options:
        choice = read_choice(results[0], options)
        hit, status, read = choice.letter == reference, choice.status, choice.letter
    else:
        prepared = read_output(results[0], keep="end")
        status, read = prepared.status(parsed=True), _plain(prepared.text)
        hit = bool(prepared.text) and read == _plain(reference)
    detail = {"answer": reference, "read": read}
    return logged_score(doc, SampleScore({"accuracy": Counts(float(hit), 1)}, status, detail))


def _plain(text: str) -> str:
    return english_numbers_to_digits(normalise_answer_text(text))
