"""What the `mmbench_circular_*.yaml` refer to: lmms-eval resolves `!function` in the folder of the YAML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tliveomni_eval.evals.metrics.circular_eval import (
    CircularReport,
    RotationAnswer,
    circular_report,
    rotation_of,
    score_choice,
)
from tliveomni_eval.evals.record import Counts
from tliveomni_eval.tasks.choice_judge import judged
from tliveomni_eval.tasks.live_task import LiveTask, answered_share, messages, prompt, ratio, reference_text, visuals
from tliveomni_eval.tasks.scored_sample import logged_score

__all__ = [
    "LiveTask",
    "answered_share",
    "circular_accuracy",
    "consistency",
    "messages",
    "position_bias",
    "process_results",
    "prompt",
    "ratio",
    "reference_text",
    "vanilla_minus_circular",
    "visuals",
]


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
    """Score one rotation of a question.

    Args:
        doc: Document of `LiveTask`.
        results: The model's answer, alone in its list.

    Returns:
        `accuracy` of this request; `vanilla` for the first rotation; for `circular` what the request contributes to its
        question; the answer itself for the numbers that need all answers at once; and the `record`.
    """
    context = json.loads(doc["context"])
    score, answer = score_choice(
        context["index"],
        context["options"],
        reference_text(doc),
        results[0],
        category=context.get("category", ""),
        l2_category=context.get("l2_category", ""),
    )
    score, answer = judged(score, answer, doc["prompt"], results[0])
    sample_id = doc["id"]
    given = {"id": sample_id, "answer": logged_answer(answer)}
    logged = logged_score(doc, score) | {
        "circular": answer.payload.logged(sample_id) | {"answer": given["answer"]},
        "vanilla_minus_circular": given,
        "position_bias": given,
        "consistency": given,
        "unparsed_rate": Counts(float(answer.chosen is None), 1).logged(sample_id),
    }
    if rotation_of(answer.index) == 0:
        logged["vanilla"] = Counts(float(answer.hit), 1).logged(sample_id)
    return logged


def logged_answer(answer: RotationAnswer) -> dict[str, Any]:
    """The answer as JSON, for `_report`."""
    return {"index": answer.index, "options": dict(answer.options), "answer": answer.answer, "chosen": answer.chosen}


def circular_accuracy(items: list[dict[str, Any]]) -> float:
    """lmms-eval aggregation: questions right under all rotations, over whole questions; says how many are not whole."""
    report = _report(items)
    if report.missing:
        from loguru import logger

        named = ", ".join(map(str, report.missing[:5])) + (", …" if len(report.missing) > 5 else "")
        logger.warning(
            f"{len(report.missing)} of {len(report.missing) + int(report.circular.den)} questions lack a rotation "
            f"(--limit cuts questions apart): {named}. CircularEval counts the {report.circular.den:.0f} whole ones."
        )
    return _number(report.circular.rate)


def vanilla_minus_circular(items: list[dict[str, Any]]) -> float:
    """lmms-eval aggregation: accuracy of the first rotation minus CircularEval accuracy, over whole questions."""
    return _number(_report(items).difference)


def position_bias(items: list[dict[str, Any]]) -> float:
    """lmms-eval aggregation: standard deviation of the accuracies by position of the right option."""
    return _number(_report(items).position_bias)


def consistency(items: list[dict[str, Any]]) -> float:
    """lmms-eval aggregation: questions for which every rotation names the same option text."""
    return _number(_report(items).consistency.rate)


def _report(items: list[dict[str, Any]]) -> CircularReport:
    return circular_report(RotationAnswer(**item["answer"]) for item in items)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
