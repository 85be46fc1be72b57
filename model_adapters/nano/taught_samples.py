"""What nano is to say to a manifest's samples: the tasks' own questions, and answers in the form that they ask for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.errors import UserError, unknown_name_message
from tliveomni_eval.tasks.grounding_sample import reference_boxes, reference_spans
from tliveomni_eval.tasks.image_file import image_size
from tliveomni_eval.tasks.live_asr.asr_prompt import asr_prompt
from tliveomni_eval.tasks.live_diarization.diarization_prompt import diarization_prompt
from tliveomni_eval.tasks.live_localization.localization_prompt import localization_prompt
from tliveomni_eval.tasks.live_temporal_grounding.grounding_prompt import grounding_prompt
from tliveomni_eval.tasks.manifest import Sample
from tliveomni_eval.tasks.speech_sample import hotword_list, reference_turns, speech_language


@dataclass(frozen=True, slots=True)
class TaughtSample:
    """A question with its media, and the answer to learn.

    Attributes:
        id: Of the sample.
        task: Its task.
        messages: Chat messages as the task gives them to a model; media by path.
        answer: What is to be said.
    """

    id: str
    task: str
    messages: list[dict[str, Any]]
    answer: str


def taught_sample(sample: Sample, folder: Path) -> TaughtSample:
    """A manifest line as something to learn.

    Args:
        sample: Of one of `TAUGHT_TASKS`.
        folder: Its data folder.

    Raises:
        UserError: The task is not taught.
    """
    if sample.task not in TAUGHT_TASKS:
        raise UserError(f"sample {sample.id}: " + unknown_name_message("task", sample.task, sorted(TAUGHT_TASKS)))
    question, answer = TAUGHT_TASKS[sample.task](sample, folder)
    content = [{"type": medium.type, "url": str(folder / medium.path)} for medium in sample.media]
    messages = [{"role": "user", "content": [*content, {"type": "text", "text": sample.prompt or question}]}]
    return TaughtSample(sample.id, sample.task, messages, answer)


def _text(sample: Sample, folder: Path) -> tuple[str, str]:
    return "", str(sample.reference)


def _speech(sample: Sample, folder: Path) -> tuple[str, str]:
    return asr_prompt(speech_language(sample.context), hotword_list(sample.context)), str(sample.reference)


def _turns(sample: Sample, folder: Path) -> tuple[str, str]:
    turns = [
        {"speaker": turn.speaker, "start": turn.start, "end": turn.end, "text": turn.text}
        for turn in reference_turns(sample.reference)
    ]
    return diarization_prompt(speech_language(sample.context)), _as_json(turns)


def _boxes(sample: Sample, folder: Path) -> tuple[str, str]:
    width, height = image_size(folder / sample.media[0].path)
    query = str(sample.context["query"])
    label = str(sample.context.get("label", query))
    lang = str(sample.context.get("lang", "zh"))
    boxes = [
        {"bbox_2d": _relative(box.box, width, height), "label": box.label or label}
        for box in reference_boxes(sample.reference)
    ]
    return localization_prompt(query, label, lang, "relative_1000", width, height), _as_json(boxes)


def _relative(box: tuple[float, float, float, float], width: int, height: int) -> list[int]:
    sides = (width, height, width, height)
    return [round(1000 * value / side) for value, side in zip(box, sides, strict=True)]


def _spans(sample: Sample, folder: Path) -> tuple[str, str]:
    spans = [{"start": round(start, 1), "end": round(end, 1)} for start, end in reference_spans(sample.reference)]
    lang = str(sample.context.get("lang", "zh"))
    return grounding_prompt(str(sample.context["question"]), lang, "seconds"), _as_json(spans)


def _as_json(items: list[dict[str, Any]]) -> str:
    return json.dumps(items, ensure_ascii=False)


TAUGHT_TASKS: Mapping[str, Callable[[Sample, Path], tuple[str, str]]] = {
    "live_ocr": _text,
    "live_asr": _speech,
    "live_diarization": _turns,
    "live_localization": _boxes,
    "live_temporal_grounding": _spans,
}
"""Task to what gives its own question and the answer to learn."""
