"""What `mmmu_val.yaml` refers to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.metrics.choice_answer import read_choice
from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.sample_score import SampleScore
from tliveomni_eval.evals.record import Counts
from tliveomni_eval.tasks.benchmarks.mmmu import IMAGE_TOKEN
from tliveomni_eval.tasks.live_task import LiveTask, answered_share, prompt, ratio, reference_text, visuals
from tliveomni_eval.tasks.live_task import messages as media_first
from tliveomni_eval.tasks.scored_sample import logged_score

__all__ = ["LiveTask", "answered_share", "messages", "process_results", "prompt", "ratio", "reference_text", "visuals"]


def messages(doc: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Chat messages with each image where the text refers to it first (`<image 1>`).

    Raises:
        MediaError: An image cannot be decoded.
    """
    *images, text = media_first(doc)[0]["content"]
    waiting = dict(zip(json.loads(doc["context"])["images"], images, strict=True))
    content: list[dict[str, Any]] = []
    pieces = IMAGE_TOKEN.split(text["text"])
    for place, piece in enumerate(pieces):
        if place % 2 == 0 and piece.strip():
            content.append({"type": "text", "text": piece.strip()})
        elif place % 2 == 1:
            content.append(waiting.pop(piece) if piece in waiting else {"type": "text", "text": f"<image {piece}>"})
    return [{"role": "user", "content": content}]


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
    """Score one answer: a choice by our grammar, never by guessing; an open answer by the benchmark's own rules.

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.
    """
    reference, options = json.loads(doc["reference"]), json.loads(doc["context"])["options"]
    score = _score_choice(reference, options, results[0]) if options else _score_open(reference, results[0])
    return logged_score(doc, score)


def _score_choice(reference: str, options: Mapping[str, str], output: str | None) -> SampleScore:
    choice = read_choice(output, options)
    detail = {"answer": reference, "chosen": choice.letter, "rule": choice.rule}
    return SampleScore({"accuracy": Counts(float(choice.letter == reference), 1)}, choice.status, detail)


def _score_open(reference: list[str], output: str | None) -> SampleScore:
    from lmms_eval.tasks.mmmu.utils import eval_open, parse_open_response

    prepared = read_output(output, keep="end")
    read = parse_open_response(prepared.text) if prepared.text else []
    hit = bool(read) and bool(eval_open(reference if len(reference) > 1 else reference[0], read))
    detail = {"answer": reference, "read": [str(item) for item in read]}
    return SampleScore({"accuracy": Counts(float(hit), 1)}, prepared.status(parsed=bool(read)), detail)
