"""The embedded speech sets: complete, balanced, what the generator makes, at the times and ratios that they claim."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from tliveomni_eval.evals.text.normalizer import normalize_transcript
from tliveomni_eval.tasks.audio_file import read_audio
from tliveomni_eval.tasks.composer import live_asr_set, live_diarization_set, real_speech
from tliveomni_eval.tasks.composer.catalogue import belongs_to
from tliveomni_eval.tasks.composer.opus_file import SAMPLE_RATE, write_opus
from tliveomni_eval.tasks.composer.speech_bank import LOUDNESS, SpeechBank, speech_bank, write_bank
from tliveomni_eval.tasks.composer.speech_lines import plan_lines
from tliveomni_eval.tasks.composer.speech_mix import PlacedUtterance, draw_noise, lay_out, with_noise
from tliveomni_eval.tasks.composer.speech_voices import VOICES
from tliveomni_eval.tasks.composer.spoken_amounts import chinese_number, english_number
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA
from tliveomni_eval.tasks.manifest import Sample, load_samples
from tliveomni_eval.tasks.task_index import read_task_index

TASKS = ("live_asr", "live_diarization")
BANK = speech_bank()
ASR_INDEX = SpeechBank(EMBEDDED_DATA / "live_asr")
"""What the set says, without its audio: the embedded bank holds the first half of it."""


def lines_of(task: str) -> list[dict[str, Any]]:
    text = (EMBEDDED_DATA / task / "manifest.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module", params=TASKS)
def samples(request: pytest.FixtureRequest) -> list[Sample]:
    return load_samples(EMBEDDED_DATA / request.param, request.param)


def test_the_sets_are_large_and_the_files_small(samples: list[Sample]) -> None:
    folder = EMBEDDED_DATA / samples[0].task
    assert len(samples) >= {"live_asr": 800, "live_diarization": 300}[samples[0].task]
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 13e6
    assert {path.name for path in (folder / "media").iterdir()} == {Path(s.media[0].path).name for s in samples}


def test_every_promised_slice_has_its_values(samples: list[Sample]) -> None:
    counts = Counter(item for sample in samples for item in sample.slices.items())
    assert {attribute for attribute, _ in counts} == set(read_task_index()[samples[0].task].metadata["slices"])
    small = {item: count for item, count in counts.items() if count < 100}
    assert set(small) <= {("source", "real")} | {("gender", "female"), ("gender", "male")}


@pytest.mark.parametrize(
    ("task", "one", "other"),
    [
        ("live_asr", "lang", "snr_db"),
        ("live_asr", "hotwords", "lang"),
        ("live_asr", "hotwords", "snr_db"),
        ("live_diarization", "speakers", "lang"),
        ("live_diarization", "speakers", "snr_db"),
    ],
)
def test_slices_are_not_confounded(task: str, one: str, other: str) -> None:
    pairs = Counter((line["slices"][one], line["slices"][other]) for line in lines_of(task) if other in line["slices"])
    assert max(pairs.values()) <= 1.3 * min(pairs.values())


def test_hotwords_are_said_or_not_as_the_slice_says() -> None:
    for line in lines_of("live_asr"):
        said = normalize_transcript(line["reference"])
        words = [normalize_transcript(word) in said for word in line["context"].get("hotwords", [])]
        expected = {
            "in_utterance": any(words) and not all(words),
            "distractors": words and not any(words),
            "none": not words,
        }
        assert expected[line["slices"]["hotwords"]], line["id"]


def loudness(samples: np.ndarray) -> np.ndarray:
    """Root mean square of each 20 ms."""
    frame = SAMPLE_RATE // 50
    frames = samples[: len(samples) // frame * frame].reshape(-1, frame)
    return np.sqrt(np.mean(frames.astype(float) ** 2, axis=1))


@pytest.mark.parametrize("task", TASKS)
def test_the_generator_still_makes_the_set(task: str, tmp_path: Path) -> None:
    folder = EMBEDDED_DATA / task
    record = json.loads((folder / "generator.json").read_text(encoding="utf-8"))
    assert record["manifest_sha256"] == hashlib.sha256((folder / "manifest.jsonl").read_bytes()).hexdigest()
    stored = {line["id"]: line for line in lines_of(task)}
    if task == "live_asr":
        planned: list[Any] = list(live_asr_set.plan_speech(ASR_INDEX, record["samples"], record["seed"]))
        for item in planned:
            assert live_asr_set.speech_line(ASR_INDEX, item, 0) == stored[item.id] | {
                "slices": {**stored[item.id]["slices"], "duration_s": live_asr_set.duration_slice(0)}
            }
        embedded = {utterance.id: utterance for utterance in BANK.utterances}
        # The embedded bank was synthesised apart, and not every utterance came out equally long on that processor.
        planned = [
            replace(item, utterance=embedded[item.utterance.id])
            for item in planned
            if item.noise != "babble"
            and item.utterance.id in embedded
            and item.utterance.seconds == embedded[item.utterance.id].seconds
        ]
    else:
        planned = live_diarization_set.plan_dialogues(BANK, record["samples"], record["seed"])
    for item in planned[:: len(planned) // 9]:
        if task == "live_asr":
            recording = live_asr_set.compose_speech(BANK, item)
            line = live_asr_set.speech_line(ASR_INDEX, item, len(recording) / SAMPLE_RATE)
        else:
            recording = live_diarization_set.compose_dialogue(BANK, item)
            line = live_diarization_set.dialogue_line(item)
        assert line == stored[item.id]
        kept = read_audio(folder / line["media"][0]["path"]).samples
        assert abs(len(kept) - len(recording)) <= 1
        length = min(len(kept), len(recording))
        # Neither Opus nor another processor's synthesis keeps a waveform; other speech rises and falls at other times.
        assert np.corrcoef(loudness(kept[:length]), loudness(recording[:length]))[0, 1] > 0.9


def test_the_main_slices_of_live_asr_can_certify_the_budget() -> None:
    clusters: dict[tuple[str, str], set[str]] = {}
    for line in lines_of("live_asr"):
        for item in line["slices"].items():
            clusters.setdefault(item, set()).add(line["cluster"])
    assert min(len(found) for item, found in clusters.items() if item != ("source", "real")) >= 200


def test_every_recording_is_as_long_as_what_is_said_in_it() -> None:
    planned = live_asr_set.plan_speech(ASR_INDEX, 840, 40)
    for item, line in zip(planned, lines_of("live_asr"), strict=False):
        seconds = soundfile.info(EMBEDDED_DATA / "live_asr" / line["media"][0]["path"]).duration
        # Silence of 0.15 to 0.45 s on either side.
        assert 0.29 < seconds - item.utterance.seconds < 0.91


def test_turns_lie_in_the_recording_and_overlap_as_the_slice_says() -> None:
    for line in lines_of("live_diarization"):
        seconds = soundfile.info(EMBEDDED_DATA / "live_diarization" / line["media"][0]["path"]).duration
        turns = line["reference"]
        assert all(0 <= turn["start"] < turn["end"] <= seconds for turn in turns)
        assert len({turn["speaker"] for turn in turns}) == int(line["slices"]["speakers"])
        assert [turn["start"] for turn in turns] == sorted(turn["start"] for turn in turns)
        assert turns[0]["speaker"] == "S1"
        assert (line["slices"]["overlap"] == "none") == all(one["end"] <= two["start"] for one, two in pairwise(turns))
        for speaker in {turn["speaker"] for turn in turns}:
            own = [turn for turn in turns if turn["speaker"] == speaker]
            assert all(one["end"] <= two["start"] for one, two in pairwise(own))


@pytest.mark.parametrize("snr_db", [20.0, 10.0, 5.0])
@pytest.mark.parametrize("kind", ["babble", "music"])
def test_noise_has_the_power_that_its_slice_says(snr_db: float, kind: str) -> None:
    utterance = BANK.utterances[7]
    placed = PlacedUtterance(utterance, 0.3)
    speech = lay_out(BANK, [placed], placed.end + 0.3)
    noise = draw_noise(random.Random(1), kind, BANK, placed.end + 0.3, frozenset({utterance.voice}))
    mixed = with_noise(speech, noise, snr_db, [(placed.start, placed.end)])
    spoken = speech[round(placed.start * SAMPLE_RATE) : round(placed.end * SAMPLE_RATE)]
    ratio = np.mean(spoken.astype(float) ** 2) / np.mean((mixed - speech).astype(float) ** 2)
    assert 10 * np.log10(ratio) == pytest.approx(snr_db, abs=0.05)


def test_the_bank_is_whole_and_each_utterance_is_speech_of_one_loudness() -> None:
    assert len({utterance.id for utterance in BANK.utterances}) == len(BANK.utterances) >= 300
    assert Counter(utterance.lang for utterance in BANK.utterances).most_common()[-1][1] >= 100
    for utterance in BANK.utterances:
        samples = BANK.samples(utterance)
        assert len(samples) == round(utterance.seconds * SAMPLE_RATE)
        assert 0.6 < utterance.seconds < 8
        assert np.abs(samples).max() <= 1.05
        assert np.sqrt(np.mean(samples.astype(float) ** 2)) == pytest.approx(LOUDNESS, rel=0.25)
        # A sentence takes its time: 2 to 12 Chinese characters, or 4 to 30 letters, a second.
        rate = len(utterance.text.replace(" ", "")) / utterance.seconds
        assert (5 if utterance.lang == "en" else 2.5) < rate < (30 if utterance.lang == "en" else 14), utterance


def test_the_bank_says_the_planned_lines_of_the_evaluation_side() -> None:
    for bank in (BANK, ASR_INDEX):
        planned = plan_lines("eval", len(bank.utterances), 3)
        assert [(line.id, line.text, line.voice.name) for line in planned] == [
            (utterance.id, utterance.text, utterance.voice) for utterance in bank.utterances
        ]


def test_training_and_evaluation_share_no_sentence_name_or_voice() -> None:
    train, evaluation = plan_lines("train", 864, 3), plan_lines("eval", 864, 3)
    assert {line.text for line in train}.isdisjoint(line.text for line in evaluation)
    # Product codes are random letters and digits of either side.
    codes = {"sku"}
    train_names = {name for line in train if line.kind not in codes for name in line.names}
    assert not train_names & {name for line in evaluation if line.kind not in codes for name in line.names}
    assert {line.voice for line in train}.isdisjoint({line.voice for line in evaluation})
    assert all(belongs_to(line.text, "train") for line in train)
    for lang in VOICES["eval"]:
        assert not set(VOICES["eval"][lang]) & set(VOICES["train"][lang])


def test_numbers_are_said_as_the_normaliser_reads_them() -> None:
    for number in [*range(3, 130), 200, 205, 210, 999, 1000, 1001, 1010, 2980, 9999]:
        assert normalize_transcript(f"前{chinese_number(number)}名") == f"前{number}名"
        assert normalize_transcript(f"only {english_number(number)} left") == f"only {number} left"


def test_a_written_bank_is_read_back(tmp_path: Path) -> None:
    lines = plan_lines("train", 6, 1)
    said = [(line, BANK.samples(BANK.utterances[index]), SAMPLE_RATE) for index, line in enumerate(lines)]
    write_bank(tmp_path, said)
    bank = SpeechBank(tmp_path)
    for index, utterance in enumerate(bank.utterances):
        original = BANK.samples(BANK.utterances[index])
        assert utterance.text == lines[index].text
        assert np.corrcoef(np.abs(bank.samples(utterance)), np.abs(original))[0, 1] > 0.8


def test_opus_files_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    samples = BANK.samples(BANK.utterances[0])
    for name in ("a", "b"):
        write_opus(tmp_path / f"{name}.opus", samples, 16_000)
    assert (tmp_path / "a.opus").read_bytes() == (tmp_path / "b.opus").read_bytes()
    assert len(read_audio(tmp_path / "a.opus").samples) == len(samples)


def test_recorded_clips_become_samples_with_their_transcripts(tmp_path: Path) -> None:
    source, out = tmp_path / "librivox", tmp_path / "set"
    source.mkdir()
    (out / "media").mkdir(parents=True)
    soundfile.write(source / "book-0870.wav", BANK.samples(BANK.utterances[1]), SAMPLE_RATE)
    (source / "transcription").write_text("<s> he was not ill disposed </s> (book-0870)\n", encoding="utf-8")
    (line,) = real_speech.write_real_speech(out, source)
    assert (line["reference"], line["slices"]["source"]) == ("he was not ill disposed", "real")
    assert read_audio(out / line["media"][0]["path"]).seconds == pytest.approx(BANK.utterances[1].seconds, abs=0.01)
