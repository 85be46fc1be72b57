"""Write streams and the manifest of the tasks on them: live_temporal_grounding, live_selling_points, live_caption."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from tliveomni_eval.tasks.composer.catalogue import Side
from tliveomni_eval.tasks.composer.live_ocr_set import MEDIA_FOLDER
from tliveomni_eval.tasks.composer.set_record import files_sha256, write_set_record
from tliveomni_eval.tasks.composer.speech_bank import SpeechBank
from tliveomni_eval.tasks.composer.stream.stream_facts import caption_facts, selling_point_facts
from tliveomni_eval.tasks.composer.stream.stream_file import CRF, write_stream
from tliveomni_eval.tasks.composer.stream.stream_picture import stream_frames
from tliveomni_eval.tasks.composer.stream.stream_plan import StreamPlan, plan_stream
from tliveomni_eval.tasks.composer.stream.stream_questions import Question, draw_questions, draw_spoken_questions
from tliveomni_eval.tasks.composer.stream.stream_space import (
    EMBEDDED_DURATIONS,
    LANGUAGES,
    SEGMENTS,
    Evidence,
    Language,
    segment_choices,
)
from tliveomni_eval.tasks.composer.stream.stream_speech import SPOKEN_KINDS, StreamSpeech, draw_speech

TASK: Final = "live_temporal_grounding"
EMBEDDED_STREAMS: Final = 120
EMBEDDED_SEED: Final = 40
_SEED_STRIDE: Final = 1_000_000
_ATTEMPTS: Final = 60
_EVIDENCE: Final[tuple[Evidence, ...]] = ("seen", "both", "seen", "heard")
_GENERATOR_FILES: Final = (
    "catalogue.*",
    "speech_grammar.json",
    "photographs.py",
    "typefaces.py",
    "fonts/*.?tf",
    "backgrounds/*.webp",
    "products/*.py",
    "stream/*.py",
    "stream/clips/*.mp4",
)


@dataclass(frozen=True)
class PlannedStream:
    """A stream to compose: its id, the seed, and the slice values it must have; `turn` decides what is asked."""

    id: str
    seed: int
    duration: str
    segments: str
    lang: Language
    evidence: Evidence
    turn: int


def plan_streams(
    count: int, seed: int, durations: Sequence[str] = (), has_speech: bool = True
) -> Iterator[PlannedStream]:
    """Yield `count` planned streams.

    Args:
        count: Number of streams, at least 1.
        seed: Of the whole set; sets with different seeds share no stream.
        durations: Slice values of length to go through in turn; none for the mixture of the embedded set.
        has_speech: Whether every other stream has speech that its questions are about; False leaves those out.
    """
    lengths = list(durations) or [value for value, weight in EMBEDDED_DURATIONS.items() for _ in range(weight)]
    for index in range(0, count if has_speech else 2 * count, 1 if has_speech else 2):
        pair = index // 2
        # The shift by one each round keeps evidence, which alternates, from going with length.
        turn, at = divmod(pair, len(lengths))
        duration = lengths[(at + turn) % len(lengths)]
        choices = segment_choices(duration)
        yield PlannedStream(
            id=f"{TASK}-{index:05d}",
            seed=seed * _SEED_STRIDE + index,
            duration=duration,
            segments=choices[(turn + at) % len(choices)],
            lang=LANGUAGES[pair // 4 % len(LANGUAGES)],
            evidence=_EVIDENCE[index % 4],
            turn=pair,
        )


@dataclass(frozen=True)
class ComposedStream:
    """What a stream shows, what is said in it, and what is asked about it."""

    plan: StreamPlan
    speech: StreamSpeech | None
    questions: tuple[Question, ...]


def compose_stream(planned: PlannedStream, side: Side, bank: SpeechBank | None) -> ComposedStream:
    """The stream that a plan stands for, without its pictures and sound.

    Raises:
        ValueError: The stream needs speech and the bank has no sentences that fit.
    """
    for attempt in range(_ATTEMPTS):
        rng = random.Random(f"{TASK} {side} {planned.seed} {attempt}")
        if planned.evidence == "seen" or bank is None:
            plan = plan_stream(rng, side, planned.lang, planned.duration, planned.segments)
            return ComposedStream(plan, None, draw_questions(rng, plan, planned.turn))
        # A voice may not have enough products to talk about for many segments.
        segments = planned.segments if attempt < _ATTEMPTS // 2 else next(iter(SEGMENTS))
        plan = plan_stream(rng, side, planned.lang, planned.duration, segments, planned.evidence, kinds=SPOKEN_KINDS)
        speech = draw_speech(rng, plan, bank)
        if speech is not None:
            return ComposedStream(plan, speech, draw_spoken_questions(rng, plan, speech))
    raise ValueError(f"the bank in {bank and bank.folder} has no sentences for {planned}")


def stream_manifest_lines(planned: PlannedStream, composed: ComposedStream) -> list[dict[str, Any]]:
    """One line a question, then those of live_selling_points and live_caption; all of one stream share its cluster."""
    return [*_question_lines(planned, composed), *_fact_lines(planned, composed)]


def _question_lines(planned: PlannedStream, composed: ComposedStream) -> list[dict[str, Any]]:
    plan = composed.plan
    return [
        {
            "id": f"{planned.id}-{number}",
            "task": TASK,
            "media": [{"type": "video", "path": f"{MEDIA_FOLDER}/{planned.id}.mp4"}],
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
        for number, question in enumerate(composed.questions)
    ]


def _fact_lines(planned: PlannedStream, composed: ComposedStream) -> list[dict[str, Any]]:
    plan = composed.plan
    evidence = plan.segments[0].evidence
    slices = {"duration_s": plan.duration, "lang": plan.lang, "segments": plan.segment_count}
    shared = {
        "media": [{"type": "video", "path": f"{MEDIA_FOLDER}/{planned.id}.mp4"}],
        "cluster": planned.id,
        "context": {"lang": plan.lang, "evidence": evidence},
    }
    lines = [
        {
            "id": planned.id.replace(TASK, "live_selling_points"),
            "task": "live_selling_points",
            "reference": selling_point_facts(plan, composed.speech),
            "slices": {**slices, "evidence": evidence},
            **shared,
        }
    ]
    if evidence != "heard":
        # Where the products are only said, the picture shows nothing but the host.
        lines.append(
            {
                "id": planned.id.replace(TASK, "live_caption"),
                "task": "live_caption",
                "reference": caption_facts(plan),
                "slices": slices,
                **shared,
            }
        )
    return lines


def write_planned_stream(
    folder: Path, planned: PlannedStream, side: Side, bank_folder: Path | None = None
) -> list[dict[str, Any]]:
    """Compose a stream, write its file, and return its manifest lines.

    Args:
        folder: Of the set.
        planned: The stream.
        side: Whose products and brands are drawn.
        bank_folder: Of the speech bank; None for streams without sound.

    Raises:
        OSError: The file cannot be written.
    """
    bank = _bank(bank_folder) if bank_folder is not None else None
    composed = compose_stream(planned, side, bank)
    lines = stream_manifest_lines(planned, composed)
    frames = stream_frames(random.Random(f"{TASK} pictures {side} {planned.seed}"), composed.plan)
    sound = None
    if bank is not None and composed.speech is not None:
        sound = composed.speech.sound(bank, composed.plan.ticks)
    write_stream(folder / lines[0]["media"][0]["path"], frames, sound)
    return lines


@lru_cache(maxsize=1)
def _bank(folder: Path) -> SpeechBank:
    return SpeechBank(folder)


def write_stream_record(
    folder: Path, streams: int, side: Side, seed: int, durations: Sequence[str], has_speech: bool
) -> None:
    """Write how the set was made."""
    options = "".join(f" --duration {value}" for value in durations) + ("" if has_speech else " --no-speech")
    write_set_record(
        folder,
        f"tlive compose {TASK} --out DIR --streams {streams} --side {side} --seed {seed}{options}",
        files_sha256(_GENERATOR_FILES),
        streams=streams,
        seed=seed,
        side=side,
        speech=has_speech,
        crf=CRF,
    )
