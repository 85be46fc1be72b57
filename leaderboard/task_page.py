"""Builds the page of one task: its samples with every run's answer, and the details of its slices."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tliveomni_eval.evals.logs.task_log import TaskLog
from tliveomni_eval.evals.record import Status
from tliveomni_eval.leaderboard.drawing import predicted_drawing, reference_drawing
from tliveomni_eval.leaderboard.logged_sample import (
    answer_text,
    output_tokens,
    prompt_text,
    reference_text,
    scorer_detail,
    shown_detail,
    token_logprobs,
)
from tliveomni_eval.leaderboard.media_inclusion import MediaInclusion
from tliveomni_eval.leaderboard.media_location import FoundMedium, MediaFinder
from tliveomni_eval.leaderboard.output_reading import (
    OutputReading,
    choice_options,
    chosen_option,
    closed_answer,
    hotword_counts,
    time_offsets,
)
from tliveomni_eval.leaderboard.paired_samples import PairedSamples
from tliveomni_eval.leaderboard.slice_details import slice_detail
from tliveomni_eval.leaderboard.task_page_data import ChoiceOption, Drawing, MediaItem, Output, Sample, TaskPage
from tliveomni_eval.leaderboard.text_alignment import align, character_confusions


def build_task_page(task: str, paired: PairedSamples, locator: MediaFinder, inclusion: MediaInclusion) -> TaskPage:
    """Reads the samples of a task and computes what the slice and sample views show.

    Args:
        task: Name of the task.
        paired: Its samples over all runs.
        locator: Finds media.
        inclusion: Puts media on the page.

    Raises:
        LogError: If a log changed since it was read.
    """
    candidates = range(len(paired.logs) - 1)
    prompts: dict[str, int] = {}
    samples: list[Sample] = []
    found: list[list[FoundMedium]] = []
    readings: list[list[OutputReading | None]] = [[] for _ in paired.logs]
    qualities = [paired.quality(run) for run in range(len(paired.logs))]
    changes = [paired.change(candidate) for candidate in candidates]
    for index, sample_id in enumerate(paired.ids):
        logged = [_logged(log, paired, run, index) for run, log in enumerate(paired.logs)]
        first = next(line for line in logged if line is not None)
        reference = reference_text(first)
        drawing, options = _reference_drawing(logged, reference), _options(logged)
        # Characters are compared where the answer is text to read, not coordinates, turns or the letter of an option.
        compared = None if drawing or options else reference
        outputs = [_output(line, paired, run, index, compared, qualities) for run, line in enumerate(logged)]
        for run, (line, output) in enumerate(zip(logged, outputs, strict=True)):
            readings[run].append(_reading(line, output, reference, drawing) if line and output else None)
        samples.append(
            Sample(
                id=sample_id,
                cluster=_cluster(paired, index),
                slices=np.flatnonzero(paired.members[:, index]).tolist(),
                prompt=prompts.setdefault(prompt_text(first), len(prompts)),
                reference=reference,
                drawing=drawing,
                options=options,
                outputs=outputs,
                changes=[_number(change[index]) for change in changes],
            )
        )
        found.append(locator.of_sample(first))
    media, indices = _include_media(samples, found, inclusion, [log is not None for log in paired.logs])
    return TaskPage(
        task=task,
        metrics=list(paired.metrics),
        slices=list(paired.slices),
        prompts=list(prompts),
        media=media,
        details=[
            slice_detail(paired, index, candidate, readings)
            for candidate in candidates
            for index in (None, *range(len(paired.slices)))
        ],
        samples=[sample.model_copy(update={"media": indices[position]}) for position, sample in enumerate(samples)],
    )


def is_important(sample: Sample, evaluated: Sequence[bool]) -> bool:
    """Whether somebody will want to see the sample: it changed, is wrong, or is missing from a run of its task.

    Args:
        sample: The sample.
        evaluated: Whether each run has the task at all.
    """
    return any(change is not None and change != 0 for change in sample.changes) or any(
        has_task and (output is None or output.status != "ok" or (output.quality is not None and output.quality < 1))
        for output, has_task in zip(sample.outputs, evaluated, strict=True)
    )


def _logged(log: TaskLog | None, paired: PairedSamples, run: int, index: int) -> Mapping[str, Any] | None:
    position = int(paired.positions[run, index])
    return log.sample(position) if log is not None and position >= 0 else None


def _reference_drawing(logged: Sequence[Mapping[str, Any] | None], reference: str) -> Drawing | None:
    """From the first run whose scorer left one: an unparsed answer may have none."""
    for line in logged:
        if line is not None and (drawing := _none_if_empty(reference_drawing(scorer_detail(line), reference))):
            return drawing
    return None


def _options(logged: Sequence[Mapping[str, Any] | None]) -> list[ChoiceOption]:
    return next((found for line in logged if line is not None and (found := choice_options(scorer_detail(line)))), [])


def _reading(logged: Mapping[str, Any], output: Output, reference: str, drawing: Drawing | None) -> OutputReading:
    closed = closed_answer(scorer_detail(logged))
    is_text = closed is None and drawing is None
    confusions = character_confusions(reference, output.text, output.edits) if is_text else Counter()
    return OutputReading(output.status, confusions, closed, output.hotwords, time_offsets(drawing, output.drawing))


def _none_if_empty(drawing: Drawing) -> Drawing | None:
    return drawing if drawing.boxes or drawing.spans or drawing.turns else None


def _cluster(paired: PairedSamples, index: int) -> str:
    for run, log in enumerate(paired.logs):
        position = int(paired.positions[run, index])
        if log is not None and position >= 0:
            code = int(log.clusters.codes[position])
            return log.clusters.values[code] if code >= 0 else ""
    return ""


def _output(
    logged: Mapping[str, Any] | None,
    paired: PairedSamples,
    run: int,
    index: int,
    reference: str | None,
    qualities: Sequence[np.ndarray[tuple[int, ...], np.dtype[np.float64]]],
) -> Output | None:
    log = paired.logs[run]
    if logged is None or log is None:
        return None
    text = answer_text(logged)
    code = int(log.statuses.codes[paired.positions[run, index]])
    status: Status = log.statuses.values[code] if code >= 0 else "ok"  # type: ignore[assignment]  # checked by the reader
    den = paired.den[run, :, index]
    return Output(
        text=text,
        status=status,
        quality=_number(qualities[run][index]),
        metrics=[
            float(paired.num[run, metric, index] / den[metric]) if den[metric] > 0 else None
            for metric in range(len(paired.metrics))
        ],
        edits=[] if reference is None else align(reference, text),
        drawing=_none_if_empty(predicted_drawing(scorer_detail(logged))),
        chosen=chosen_option(scorer_detail(logged)),
        hotwords=hotword_counts(scorer_detail(logged)),
        detail=shown_detail(logged),
        tokens=output_tokens(logged),
        logprobs=token_logprobs(logged),
    )


def _include_media(
    samples: Sequence[Sample],
    found: Sequence[Sequence[FoundMedium]],
    inclusion: MediaInclusion,
    evaluated: Sequence[bool],
) -> tuple[list[MediaItem], list[list[int]]]:
    """Includes media of the samples with the largest loss first, each medium once."""
    worst = [
        min((change if change is not None else -1.0 for change in sample.changes), default=0.0) for sample in samples
    ]
    important = [is_important(sample, evaluated) for sample in samples]
    items: list[MediaItem] = []
    places: dict[FoundMedium, int] = {}
    indices: list[list[int]] = [[] for _ in samples]
    for position in sorted(range(len(samples)), key=lambda at: (not important[at], worst[at], at)):
        for medium in found[position]:
            if medium not in places:
                places[medium] = len(items)
                items.append(inclusion.include(medium, important[position]))
            indices[position].append(places[medium])
    return items, indices


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
