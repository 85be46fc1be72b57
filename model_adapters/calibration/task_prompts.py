"""The instruction of a sample that leaves it to its task, so that a calibration folder stands by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tliveomni_eval.tasks.image_file import image_size
from tliveomni_eval.tasks.manifest import Sample
from tliveomni_eval.tasks.speech_sample import hotword_list, speech_language
from tliveomni_eval.tasks.task_index import TaskEntry


def prompt_of(sample: Sample, folder: Path, index: dict[str, TaskEntry]) -> str:
    """A sample's instruction, by its task's rule where it has none of its own; empty for a task without a rule.

    Args:
        sample: The sample.
        folder: Its data folder.
        index: All tasks, for the coordinate space that one declares.

    Raises:
        MediaError: The picture that a prompt speaks of cannot be read.
        UserError: Its coordinate space is not known.
    """
    if sample.prompt:
        return sample.prompt
    context: dict[str, Any] = dict(sample.context)
    language = str(context.get("lang", "zh"))
    match sample.task:
        case "live_asr":
            from tliveomni_eval.tasks.live_asr.asr_prompt import asr_prompt

            return asr_prompt(speech_language(context), hotword_list(context))
        case "live_diarization":
            from tliveomni_eval.tasks.live_diarization.diarization_prompt import diarization_prompt

            return diarization_prompt(speech_language(context))
        case "live_localization":
            from tliveomni_eval.tasks.live_localization.localization_prompt import declared_space, localization_prompt

            profiles = index[sample.task].metadata.get("coordinate_space", {}) if sample.task in index else {}
            space = declared_space(context, profiles, None)
            width, height = image_size(folder / sample.media[0].path)
            query = str(context["query"])
            return localization_prompt(query, str(context.get("label", query)), language, space, width, height)
        case "live_temporal_grounding":
            from tliveomni_eval.tasks.live_temporal_grounding.grounding_prompt import grounding_prompt

            return grounding_prompt(str(context["question"]), language, context.get("time_format", "seconds"))
        case "live_selling_points":
            from tliveomni_eval.tasks.live_selling_points.selling_points_prompt import selling_points_prompt

            return selling_points_prompt(language, str(context.get("evidence", "seen")))
        case "live_caption":
            from tliveomni_eval.tasks.live_caption.caption_prompt import caption_prompt

            return caption_prompt(language)
        case _:
            return ""
