"""What `vqav2.yaml` refers to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.sample_score import SampleScore
from tliveomni_eval.evals.metrics.vqa_accuracy import vqa_accuracy
from tliveomni_eval.evals.record import Counts
from tliveomni_eval.tasks.live_task import LiveTask, answered_share, messages, prompt, ratio, reference_text, visuals
from tliveomni_eval.tasks.scored_sample import logged_score

__all__ = ["LiveTask", "answered_share", "messages", "process_results", "prompt", "ratio", "reference_text", "visuals"]


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
    """Score one answer with the official accuracy; answers are normalised by lmms-eval's copy of the official code.

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.
    """
    prepared = read_output(results[0], keep="end")
    answer = normalised(prepared.text) if prepared.text else ""
    answers = [normalised(text) for text in json.loads(doc["reference"])]
    accuracy = vqa_accuracy(answer, answers) if prepared.text else 0.0
    detail = {"answer": answer, "annotators": answers}
    return logged_score(doc, SampleScore({"vqa_accuracy": Counts(accuracy, 1)}, prepared.status(parsed=True), detail))


def normalised(text: str) -> str:
    """An answer without case, articles, punctuation and number words, as the official code compares it."""
    from lmms_eval.tasks._task_utils.vqa_eval_metric import EvalAIAnswerProcessor

    processor = EvalAIAnswerProcessor()
    one_line = text.replace("\n", " ").replace("\t", " ").strip()
    return str(processor.process_digit_article(processor.process_punctuation(one_line)))
