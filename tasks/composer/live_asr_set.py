"""Write a live_asr data set: utterances of a bank under every combination of noise and hotword list."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.text.normalizer import normalize_transcript
from tliveomni_eval.tasks.composer.opus_file import SAMPLE_RATE, write_opus
from tliveomni_eval.tasks.composer.speech_bank import SpeechBank, Utterance
from tliveomni_eval.tasks.composer.speech_mix import (
    NOISES,
    SNR_VALUES,
    PlacedUtterance,
    draw_noise,
    lay_out,
    limited,
    with_noise,
)

TASK: Final = "live_asr"
BIT_RATE: Final = 16_000
MEDIA_FOLDER: Final = "media"
# Slice value -> upper bound of the recording's length in seconds.
DURATIONS: Final = {"0-2.5": 2.5, "2.5-3.2": 3.2, "3.2+": float("inf")}
_SEED_STRIDE: Final = 1_000_000
_SILENCE_S: Final = (0.15, 0.45)
_DISTRACTORS: Final = (5, 9)


@dataclass(frozen=True, slots=True)
class PlannedSpeech:
    """A recording to compose.

    Attributes:
        id: Of the sample.
        seed: Of everything drawn for it.
        utterance: What is said.
        snr_db: A value of `speech_mix.SNR_VALUES`.
        noise: `none`, `babble` or `music`.
        hotwords: `in_utterance`, `distractors` or `none`.
    """

    id: str
    seed: int
    utterance: Utterance
    snr_db: str
    noise: str
    hotwords: str


def plan_speech(bank: SpeechBank, count: int, seed: int) -> Iterator[PlannedSpeech]:
    """Yield planned recordings, balanced over language, noise and hotwords.

    The bank's languages take turns, and in each every third utterance holds a brand or code: that one is given in the
    hotword list; of the others half get a list of absent words. The noise rotates with a period of four. Beyond the
    bank's size its utterances come again, with other noise.

    Args:
        bank: Utterances, languages in turn.
        count: Number of samples.
        seed: Of the whole set.
    """
    utterances = bank.utterances
    for index in range(count):
        again, place = divmod(index, len(utterances))
        utterance = utterances[place]
        turn = int(utterance.id.rsplit("-", 1)[1])
        snr_db = SNR_VALUES[(turn + 2 * again) % len(SNR_VALUES)]
        yield PlannedSpeech(
            id=f"{TASK}-{index:05d}",
            seed=seed * _SEED_STRIDE + index,
            utterance=utterance,
            snr_db=snr_db,
            noise="none" if snr_db == "clean" else NOISES[turn // len(SNR_VALUES) % len(NOISES)],
            hotwords="in_utterance" if utterance.names else ("distractors", "none")[turn % 3 % 2],
        )


def compose_speech(bank: SpeechBank, planned: PlannedSpeech) -> NDArray[np.float32]:
    """The recording: float32 mono at 16 kHz, a moment of silence or noise around the utterance."""
    rng = random.Random(planned.seed)
    before, after = rng.uniform(*_SILENCE_S), rng.uniform(*_SILENCE_S)
    seconds = before + planned.utterance.seconds + after
    placed = PlacedUtterance(planned.utterance, before)
    recording = lay_out(bank, [placed], seconds)
    if planned.noise != "none":
        absent = frozenset({planned.utterance.voice})
        noise = draw_noise(rng, planned.noise, bank, seconds, absent)
        recording = with_noise(recording, noise, float(planned.snr_db), [(placed.start, placed.end)])
    return limited(recording)


def speech_line(bank: SpeechBank, planned: PlannedSpeech, seconds: float) -> dict[str, Any]:
    """The manifest line of a recording; samples of one utterance are one cluster.

    Args:
        bank: Where distractors are drawn from.
        planned: What was composed.
        seconds: Length of the recording.
    """
    utterance = planned.utterance
    context: dict[str, Any] = {"lang": utterance.lang}
    if planned.hotwords != "none":
        context["hotwords"] = _hotwords(bank, planned)
    slices = {
        "lang": utterance.lang,
        "snr_db": planned.snr_db,
        "noise": planned.noise,
        "hotwords": planned.hotwords,
        "duration_s": duration_slice(seconds),
        "gender": utterance.gender,
        "source": "synthetic",
    }
    return {
        "id": planned.id,
        "task": TASK,
        "media": [{"type": "audio", "path": f"{MEDIA_FOLDER}/{planned.id}.opus"}],
        "reference": utterance.text,
        "slices": dict(sorted(slices.items())),
        "cluster": utterance.id,
        "context": context,
    }


def duration_slice(seconds: float) -> str:
    """The slice value of `duration_s`."""
    return next(name for name, longest in DURATIONS.items() if seconds < longest)


def _hotwords(bank: SpeechBank, planned: PlannedSpeech) -> list[str]:
    """Names of the utterance among names of others that are not said in it, in random order."""
    rng = random.Random(planned.seed + _SEED_STRIDE // 2)
    said = normalize_transcript(planned.utterance.text)
    own = list(planned.utterance.names) if planned.hotwords == "in_utterance" else []
    absent = [name for name in _names(bank, planned.utterance.lang) if normalize_transcript(name) not in said]
    words = own + rng.sample(absent, min(len(absent), rng.randint(*_DISTRACTORS)))
    rng.shuffle(words)
    return words


@lru_cache(maxsize=8)
def _names(bank: SpeechBank, lang: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for row in bank.utterances if row.lang == lang for name in row.names))


def write_speech(folder: Path, bank_folder: Path, planned: PlannedSpeech) -> dict[str, Any]:
    """Compose a recording, write it, and return its manifest line.

    Raises:
        OSError: The file cannot be written.
    """
    bank = open_bank(bank_folder)
    recording = compose_speech(bank, planned)
    line = speech_line(bank, planned, len(recording) / SAMPLE_RATE)
    write_opus(folder / line["media"][0]["path"], recording, BIT_RATE)
    return line


@lru_cache(maxsize=2)
def open_bank(folder: Path) -> SpeechBank:
    """A bank, read once a process."""
    return SpeechBank(folder)
