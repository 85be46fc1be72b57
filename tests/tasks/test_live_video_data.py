"""The embedded streams and live_temporal_grounding: complete, what the generator makes, and true to its spans."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from task_runs import load
from tliveomni_eval.tasks.composer.products.product import KIND_NAMES, KINDS
from tliveomni_eval.tasks.composer.stream import stream_picture
from tliveomni_eval.tasks.composer.stream.stream_picture import stream_frames
from tliveomni_eval.tasks.composer.stream.stream_plan import plan_stream
from tliveomni_eval.tasks.composer.stream.stream_set import compose_stream, plan_streams, stream_manifest_lines
from tliveomni_eval.tasks.composer.stream.stream_space import DURATIONS, FRAME_SIZE, SEGMENTS, segment_choices
from tliveomni_eval.tasks.composer.typefaces import SizedFont, glyph
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA
from tliveomni_eval.tasks.manifest import Sample, check_folder
from tliveomni_eval.tasks.video_file import check_video, sample_video

FOLDER = EMBEDDED_DATA / "live_temporal_grounding"


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    loaded, faults = check_folder(FOLDER, "live_temporal_grounding")
    assert not faults
    return loaded


def test_the_set_is_large_and_the_files_are_small(samples: list[Sample]) -> None:
    assert len(samples) >= 300
    assert len({sample.cluster for sample in samples}) >= 100
    assert sum(path.stat().st_size for path in (FOLDER / "media").iterdir()) < 10e6
    assert {path.name for path in (FOLDER / "media").iterdir()} == {Path(s.media[0].path).name for s in samples}


def test_questions_have_no_one_and_several_answers(samples: list[Sample]) -> None:
    counts = Counter(sample.slices["spans"] for sample in samples)
    assert min(counts[value] for value in ("0", "1", "2+")) >= 40
    assert {sample.slices["lang"] for sample in samples} == {"zh", "en"}
    for sample in samples:
        assert isinstance(sample.reference, list)
        assert sample.slices["spans"] == ("2+" if len(sample.reference) > 1 else str(len(sample.reference)))


def test_the_generator_still_makes_the_set() -> None:
    record = json.loads((FOLDER / "generator.json").read_text(encoding="utf-8"))
    manifest = (FOLDER / "manifest.jsonl").read_bytes()
    assert record["manifest_sha256"] == hashlib.sha256(manifest).hexdigest()
    if record["speech"]:
        from tliveomni_eval.tasks.composer.speech_bank import speech_bank

        bank = speech_bank()
    else:
        bank = None
    planned = plan_streams(record["streams"], record["seed"], has_speech=record["speech"])
    lines = [line for stream in planned for line in stream_manifest_lines(stream, compose_stream(stream, "eval", bank))]
    assert lines == [json.loads(line) for line in manifest.decode("utf-8").splitlines()]


def test_the_files_are_whole_and_as_long_as_their_slice_says(samples: list[Sample]) -> None:
    by_path = {sample.media[0].path: sample for sample in samples}
    for path, sample in list(by_path.items())[::19]:
        check_video(FOLDER / path)
        video = sample_video(FOLDER / path, 0.2, lambda width, height: 64)
        low, high = DURATIONS[sample.slices["duration_s"]]
        assert low - 0.2 <= video.duration <= high + 0.2
        assert video.frames.shape[1:] == (FRAME_SIZE[1], FRAME_SIZE[0], 3)
        assert all(0 <= start < end <= video.duration + 0.2 for start, end in sample.reference)  # type: ignore


@pytest.mark.parametrize("duration", list(DURATIONS))
def test_plans_fill_the_stream_without_gap_and_hold_the_segments(duration: str) -> None:
    for seed in range(40):
        rng = random.Random(seed)
        count = rng.choice(segment_choices(duration))
        plan = plan_stream(rng, "eval", "zh", duration, count)
        assert DURATIONS[duration][0] * 10 <= plan.ticks <= DURATIONS[duration][1] * 10
        assert SEGMENTS[count][0] <= len(plan.segments) <= SEGMENTS[count][1]
        assert [shot.start for shot in plan.shots[1:]] == [shot.end for shot in plan.shots[:-1]]
        assert (plan.shots[0].start, plan.shots[-1].end) == (0, plan.ticks)
        assert all(shot.start < shot.end for shot in plan.shots)
        for shot in plan.shots:
            inside = [s for s in plan.segments if s.start <= shot.start and shot.end <= s.end]
            assert [segment.offer for segment in inside] == ([] if shot.offer is None else [shot.offer])


def test_the_picture_changes_where_a_segment_begins_and_ends() -> None:
    planned = next(iter(plan_streams(1, 77, ["0-30"], has_speech=False)))
    plan = compose_stream(planned, "eval", None).plan
    frames = [frame.astype(int) for frame in stream_frames(random.Random(1), plan)]
    assert len(frames) == plan.ticks
    for segment in plan.segments:
        for outside, inside in ((segment.start - 1, segment.start), (segment.end, segment.end - 1)):
            assert np.abs(frames[outside] - frames[inside]).mean() > 2


def test_the_font_has_every_character_of_a_price_card() -> None:
    missing = glyph(SizedFont("hei-bold.otf", 20), "\uffff").mask.tobytes()
    texts = [stream_picture._CARD_NAMES_ZH.get(kind, KIND_NAMES[kind][0]) for kind in KINDS]
    for character in "".join([*texts, "到手价立即购买下一件¥0123456789"]):
        assert glyph(SizedFont("hei-bold.otf", 20), character).mask.tobytes() != missing, character


def test_messages_hold_the_path_of_the_video_and_the_prompt() -> None:
    task = load("live_temporal_grounding")
    doc = task.eval_docs[0]
    (message,) = task.doc_to_messages(doc)
    assert [part["type"] for part in message["content"]] == ["video", "text"]
    assert Path(message["content"][0]["url"]).is_file()
    assert "JSON" in message["content"][1]["text"]
