"""Write a live_temporal_grounding data set: streams, questions about each, and the manifest."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tliveomni_eval.tasks.composer.catalogue import Side
from tliveomni_eval.tasks.composer.live_ocr_set import MEDIA_FOLDER
from tliveomni_eval.tasks.composer.set_record import files_sha256, write_set_record
from tliveomni_eval.tasks.composer.stream.stream_file import CRF, write_stream
from tliveomni_eval.tasks.composer.stream.stream_picture import stream_frames
from tliveomni_eval.tasks.composer.stream.stream_plan import StreamPlan, plan_stream
from tliveomni_eval.tasks.composer.stream.stream_questions import Question, draw_questions
from tliveomni_eval.tasks.composer.stream.stream_space import (
    EMBEDDED_DURATIONS,
    LANGUAGES,
    Language,
    segment_choices,
)

TASK: Final = "live_temporal_grounding"
EMBEDDED_STREAMS: Final = 208
EMBEDDED_SEED: Final = 40
_SEED_STRIDE: Final = 1_000_000
_GENERATOR_FILES: Final = (
    "catalogue.*",
    "photographs.py",
    "typefaces.py",
    "fonts/*.?tf",
    "backgrounds/*.webp",
    "products/*.py",
    "stream/*.py",
    "stream/clips/*.webm",
)


@dataclass(frozen=True)
class PlannedStream:
    """A stream to compose: its id, the seed, and the slice values it must have; `turn` decides what is asked."""

    id: str
    seed: int
    duration: str
    segments: str
    lang: Language
    turn: int


def plan_streams(count: int, seed: int, durations: Sequence[str] = ()) -> Iterator[PlannedStream]:
    """Yield `count` planned streams.

    Args:
        count: Number of streams, at least 1.
        seed: Of the whole set; sets with different seeds share no stream.
        durations: Slice values of length to go through in turn; none for the mixture of the embedded set.
    """
    lengths = list(durations) or [value for value, weight in EMBEDDED_DURATIONS.items() for _ in range(weight)]
    for index in range(count):
        turn, at = divmod(index, len(lengths))
        choices = segment_choices(lengths[at])
        yield PlannedStream(
            id=f"{TASK}-{index:05d}",
            seed=seed * _SEED_STRIDE + index,
            duration=lengths[at],
            segments=choices[(turn + at) % len(choices)],
            lang=LANGUAGES[(index // 4) % len(LANGUAGES)],
            turn=index,
        )


def plan_of(planned: PlannedStream, side: Side) -> tuple[StreamPlan, tuple[Question, ...]]:
    """What the stream shows and what is asked about it."""
    rng = random.Random(f"{TASK} {side} {planned.seed}")
    plan = plan_stream(rng, side, planned.lang, planned.duration, planned.segments)
    return plan, draw_questions(rng, plan, planned.turn)


def stream_manifest_lines(
    planned: PlannedStream, plan: StreamPlan, questions: Sequence[Question]
) -> list[dict[str, Any]]:
    """One line a question; questions about one stream share its cluster."""
    return [
        {
            "id": f"{planned.id}-{number}",
            "task": TASK,
            "media": [{"type": "video", "path": f"{MEDIA_FOLDER}/{planned.id}.webm"}],
            "reference": [list(span) for span in question.spans],
            "slices": {
                "duration_s": plan.duration,
                "evidence": question.evidence,
                "lang": plan.lang,
                "question": question.subject,
                "segments": plan.segment_count,
                "spans": "2+" if len(question.spans) > 1 else str(len(question.spans)),
            },
            "cluster": planned.id,
            "context": {"lang": plan.lang, "question": question.text},
        }
        for number, question in enumerate(questions)
    ]


def write_planned_stream(folder: Path, planned: PlannedStream, side: Side) -> list[dict[str, Any]]:
    """Compose a stream, write its file, and return its manifest lines.

    Raises:
        OSError: The file cannot be written.
    """
    plan, questions = plan_of(planned, side)
    lines = stream_manifest_lines(planned, plan, questions)
    frames = stream_frames(random.Random(f"{TASK} pictures {side} {planned.seed}"), plan)
    write_stream(folder / lines[0]["media"][0]["path"], frames)
    return lines


def write_stream_record(folder: Path, streams: int, side: Side, seed: int, durations: Sequence[str]) -> None:
    """Write how the set was made."""
    options = "".join(f" --duration {value}" for value in durations)
    write_set_record(
        folder,
        f"tlive compose {TASK} --out DIR --streams {streams} --side {side} --seed {seed}{options}",
        files_sha256(_GENERATOR_FILES),
        streams=streams,
        seed=seed,
        side=side,
        crf=CRF,
    )
