"""A release of every live task and a circular benchmark: a baseline that is right, and a candidate that is damaged.

The answers go through the scorers of the tasks, so that the page is tested on the records that they leave.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from synthetic_run import DATE
from tliveomni_eval.evals.logs.run_info import Checkpoint, RunInfo
from tliveomni_eval.evals.metrics.answerability import score_answerability
from tliveomni_eval.evals.metrics.asr import score_asr
from tliveomni_eval.evals.metrics.circular_eval import score_choice
from tliveomni_eval.evals.metrics.closed_answer import score_closed_answer
from tliveomni_eval.evals.metrics.diarization import score_diarization
from tliveomni_eval.evals.metrics.fact_recall import score_fact_recall
from tliveomni_eval.evals.metrics.localization import score_localization
from tliveomni_eval.evals.metrics.number_answer import score_chart_value, score_count
from tliveomni_eval.evals.metrics.ocr import score_ocr
from tliveomni_eval.evals.metrics.selling_points import score_selling_points
from tliveomni_eval.evals.metrics.temporal_grounding import score_temporal_grounding
from tliveomni_eval.evals.record import Record, Status
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA
from tliveomni_eval.tasks.fact_sample import FACT_TASKS, reference_facts
from tliveomni_eval.tasks.grounding_sample import reference_boxes, reference_spans
from tliveomni_eval.tasks.manifest import Sample, load_samples
from tliveomni_eval.tasks.speech_sample import hotword_list, reference_turns, speech_language
from tliveomni_eval.tasks.task_index import TaskEntry, read_task_index

LOWER_IS_BETTER = ("cer", "der", "jer", "fnr", "fuzzy", "unparsed_rate", "bias", "minus_circular")
IMAGE_SIDE = 1000
"""Boxes are answered in thousandths; the scorer is told a picture of this size, so that these are pixels too."""

Scored = tuple[Mapping[str, Any], Status, Mapping[str, Any]]
"""Counts (or a payload) of each metric, status, and detail."""


@dataclass(frozen=True)
class TaskPlan:
    """How one task is answered and scored.

    Attributes:
        right: The right answer to a sample.
        damaged: What the candidate answers.
        score: Counts, status and detail of an answer.
    """

    right: Callable[[Sample], str]
    damaged: Callable[[Sample], str]
    score: Callable[[Sample, str], Scored]


def _of_object(scored: Any) -> Scored:
    return scored.counts, scored.status, scored.detail


def _text(sample: Sample) -> str:
    return sample.reference if isinstance(sample.reference, str) else json.dumps(sample.reference, ensure_ascii=False)


def _boxes(sample: Sample, shift: float) -> str:
    return json.dumps(
        [{"bbox_2d": [round(side + shift) for side in box.box]} for box in reference_boxes(sample.reference)]
    )


def _localized(sample: Sample, answer: str) -> Scored:
    truth = reference_boxes(sample.reference)
    score, payload = score_localization(truth, answer, space="pixels", width=IMAGE_SIDE, height=IMAGE_SIDE)
    return {**score.counts, "ap": payload}, score.status, score.detail


def _spans(sample: Sample, shift: float) -> str:
    return json.dumps(
        [[round(start + shift, 2), round(end + shift, 2)] for start, end in reference_spans(sample.reference)]
    )


def _turns(sample: Sample, shift: float) -> str:
    return json.dumps(
        [
            {
                "speaker": f"voice {turn.speaker}",
                "start": round(turn.start + shift, 2),
                "end": round(turn.end + shift, 2),
                "text": turn.text[: 4 if shift else None],
            }
            for turn in reference_turns(sample.reference)
        ]
    )


def _without_first_hotword(sample: Sample) -> str:
    said = next((word for word in hotword_list(sample.context) if word in _text(sample)), _text(sample)[:2])
    return _text(sample).replace(said, "嗯")


def _transcribed(sample: Sample, answer: str) -> Scored:
    hotwords = hotword_list(sample.context)
    return _of_object(score_asr(_text(sample), answer, lang=speech_language(sample.context), hotwords=hotwords))


def _diarized(sample: Sample, answer: str) -> Scored:
    turns = reference_turns(sample.reference)
    return _of_object(score_diarization(turns, answer, lang=speech_language(sample.context)))


def _other_option(sample: Sample) -> str:
    letters = sorted(sample.context["options"])
    return letters[(letters.index(_text(sample)) + 1) % len(letters)]


def _facts(sample: Sample) -> list[str]:
    return [fact.text for fact in reference_facts(sample.reference)]


def _caption(sample: Sample) -> str:
    return f"一位主播展示了{'、'.join(_facts(sample))}。"


def _ocr(sample: Sample, answer: str) -> Scored:
    score = score_ocr(_text(sample), answer, "table")
    assert score.teds is not None
    return {"teds": score.teds, "table_exact": score.field_exact}, score.status, score.detail


def _choice(sample: Sample, answer: str) -> Scored:
    score, given = score_choice(sample.context["index"], sample.context["options"], _text(sample), answer)
    return {**score.counts, "circular": given.payload}, score.status, score.detail


PLANS: Mapping[str, TaskPlan] = {
    "live_asr": TaskPlan(_text, _without_first_hotword, _transcribed),
    "live_diarization": TaskPlan(lambda sample: _turns(sample, 0), lambda sample: _turns(sample, 0.3), _diarized),
    "live_localization": TaskPlan(
        lambda sample: _boxes(sample, 0), lambda sample: _boxes(sample, 9), _localized
    ),
    "live_temporal_grounding": TaskPlan(
        lambda sample: _spans(sample, 0),
        lambda sample: _spans(sample, 1.25),
        lambda sample, answer: _of_object(score_temporal_grounding(reference_spans(sample.reference), answer)),
    ),
    "mmbench_circular_mini": TaskPlan(_text, _other_option, _choice),
    "live_table": TaskPlan(_text, lambda sample: _text(sample).replace("8", "0"), _ocr),
    "live_chart": TaskPlan(
        _text,
        lambda sample: f"{_text(sample)}9",
        lambda sample, answer: _of_object(score_chart_value(_text(sample), answer)),
    ),
    "live_counting": TaskPlan(
        _text,
        lambda sample: str(int(_text(sample)) + 1),
        lambda sample, answer: _of_object(score_count(_text(sample), answer)),
    ),
    "live_spatial": TaskPlan(
        _text,
        lambda sample: next(option for option in sample.context["options"] if option != sample.reference),
        lambda sample, answer: _of_object(score_closed_answer(_text(sample), answer, sample.context["options"])),
    ),
    "live_unanswerable": TaskPlan(
        lambda sample: "cannot tell" if sample.reference is None else _text(sample),
        lambda sample: "¥12",
        lambda sample, answer: _of_object(score_answerability(sample.reference, answer)),
    ),
    "live_selling_points": TaskPlan(
        lambda sample: json.dumps(_facts(sample), ensure_ascii=False),
        lambda sample: json.dumps([fact.replace("5", "6") for fact in _facts(sample)], ensure_ascii=False),
        lambda sample, answer: _of_object(score_selling_points(reference_facts(sample.reference), answer)),
    ),
    "live_caption": TaskPlan(
        _caption,
        lambda sample: _caption(sample).replace("马克杯", "瓶子"),
        lambda sample, answer: _of_object(score_fact_recall(reference_facts(sample.reference), answer)),
    ),
}  # fmt: skip


def _samples(task: str, count: int) -> list[Sample]:
    """The first samples of the embedded data; for the tasks of facts, which have none, facts of embedded streams."""
    if task not in FACT_TASKS:
        return load_samples(EMBEDDED_DATA / task, task)[:count]
    streams = load_samples(EMBEDDED_DATA / "live_temporal_grounding", "live_temporal_grounding")[:count]
    facts = ["黑色的马克杯", "¥35"]
    return [
        stream.model_copy(
            update={
                "id": f"{task}-{number:05d}",
                "task": task,
                "reference": facts,
                "slices": {name: stream.slices[name] for name in ("lang", "duration_s", "segments")},
            }
        )
        for number, stream in enumerate(streams)
    ]


def write_scored_release(folder: Path, samples_a_task: int = 7) -> Path:
    """Writes runs `bf16` and `w4a16` of all tasks of `PLANS` into `folder/runs` and returns that folder.

    Args:
        folder: Folder of the test.
        samples_a_task: First samples of each task; seven are three whole questions of `mmbench_circular_mini`.
    """
    index = read_task_index()
    samples = {name: _samples(name, samples_a_task) for name in PLANS}
    for name, answer in (("bf16", lambda plan: plan.right), ("w4a16", lambda plan: plan.damaged)):
        _write_run(folder / "runs" / name, samples, index, answer)
    return folder / "runs"


def _write_run(
    run: Path,
    samples: Mapping[str, Sequence[Sample]],
    index: Mapping[str, TaskEntry],
    answer: Callable[[TaskPlan], Callable[[Sample], str]],
) -> None:
    logs = run / "tliveomni_vllm"
    logs.mkdir(parents=True)
    results: dict[str, Any] = {"config": {"model": "tliveomni_vllm"}, "model_name": "tliveomni_vllm"}
    for task, of_task in samples.items():
        lines = [_line(at, sample, PLANS[task], answer(PLANS[task])(sample)) for at, sample in enumerate(of_task)]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (logs / f"{DATE}_samples_{task}.jsonl").write_text(text, encoding="utf-8")
        metrics = sorted({key for line in lines for key in line if isinstance(line[key], dict) and "den" in line[key]})
        rates = {f"{metric},none": _rate(lines, metric) for metric in metrics}
        for part, value in {
            "results": {"alias": task, **rates},
            "configs": {"task": task, "metadata": dict(index[task].metadata)},
            "versions": 1,
            "n-shot": 0,
            "higher_is_better": {name: not name.endswith(LOWER_IS_BETTER) for name in index[task].metrics},
            "n-samples": {"original": len(lines), "effective": len(lines)},
        }.items():
            results.setdefault(part, {})[task] = value
    (logs / f"{DATE}_results.json").write_text(json.dumps(results), encoding="utf-8")
    start = datetime(2026, 11, 30, 12, tzinfo=UTC)
    RunInfo(
        name=run.name,
        variant=run.name,
        model="tliveomni_vllm",
        checkpoint=Checkpoint(path=f"checkpoints/{run.name}", files={}, fingerprint="0" * 64),
        engine_args={},
        decoding={"temperature": 0},
        versions={"vllm": "0.32.0"},
        hardware={"device": "cpu"},
        data={task: "d" * 64 for task in samples},
        prompts={task: "p" * 64 for task in samples},
        tasks=list(samples),
        command=["tlive", "run"],
        start=start,
        end=start + timedelta(seconds=60),
        exit_status=0,
    ).write(run)


def _line(at: int, sample: Sample, plan: TaskPlan, answer: str) -> dict[str, Any]:
    counts, status, detail = plan.score(sample, answer)
    media = [medium.path for medium in sample.media]
    if any(medium.type != "image" for medium in sample.media):  # As `live_task.record` does: lmms-eval logs images.
        detail, media = {**detail, "media": media}, []
    return {
        "doc_id": at,
        "target": _text(sample),
        "filtered_resps": answer,
        "input": sample.prompt or "",
        "input_media": media,
        **{name: count.logged(sample.id) for name, count in counts.items()},
        "record": Record(sample.id, sample.cluster, sample.slices, status, detail).logged(),
    }


def _rate(lines: Sequence[Mapping[str, Any]], metric: str) -> float:
    counts = [line[metric] for line in lines if metric in line]
    den = sum(count["den"] for count in counts)
    return sum(count["num"] for count in counts) / den if den else math.nan
