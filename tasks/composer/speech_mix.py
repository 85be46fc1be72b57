"""Mixing: noise at a signal-to-noise ratio, and turns of several speakers at exact times."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.tasks.composer.opus_file import SAMPLE_RATE
from tliveomni_eval.tasks.composer.speech_bank import SpeechBank, Utterance

NOISES: Final = ("babble", "music")
"""Values of the slice `noise` beside `none`: other voices, or a plucked tune."""
SNR_VALUES: Final = ("clean", "20", "10", "5")
"""Values of the slice `snr_db`: no noise, or decibels of speech over noise."""
_BABBLE_VOICES: Final = 6
_HIGHEST_PEAK: Final = 0.95
_NOTE_S: Final = 0.35
_SCALE: Final = (0, 2, 4, 7, 9, 12, 14, 16)


@dataclass(frozen=True, slots=True)
class PlacedUtterance:
    """An utterance in a recording.

    Attributes:
        utterance: Of the bank.
        start: Seconds from the beginning of the recording.
    """

    utterance: Utterance
    start: float

    @property
    def end(self) -> float:
        """Seconds from the beginning of the recording."""
        return self.start + self.utterance.seconds


def lay_out(bank: SpeechBank, placed: Sequence[PlacedUtterance], seconds: float) -> NDArray[np.float32]:
    """The sum of utterances at their times, without noise.

    Args:
        bank: Holds their audio.
        placed: Where each begins; they may overlap.
        seconds: Length of the recording.
    """
    recording = np.zeros(round(seconds * SAMPLE_RATE), dtype=np.float32)
    for item in placed:
        samples = bank.samples(item.utterance)
        start = round(item.start * SAMPLE_RATE)
        recording[start : start + len(samples)] += samples[: len(recording) - start]
    return recording


def with_noise(
    speech: NDArray[np.float32], noise: NDArray[np.float32], snr_db: float, active: Sequence[tuple[float, float]]
) -> NDArray[np.float32]:
    """Speech and noise, the noise scaled to a ratio of powers.

    Args:
        speech: Recording without noise.
        noise: At least as long.
        snr_db: Power of the speech while anybody speaks over power of the noise over the whole recording, in decibels.
        active: `(start, end)` in seconds of speech.
    """
    speaking = np.zeros(len(speech), dtype=bool)
    for start, end in active:
        speaking[round(start * SAMPLE_RATE) : round(end * SAMPLE_RATE)] = True
    noise = noise[: len(speech)]
    speech_power = float(np.mean(np.square(speech[speaking], dtype=np.float64)))
    noise_power = float(np.mean(np.square(noise, dtype=np.float64)))
    return speech + noise * np.float32(math.sqrt(speech_power / noise_power / 10 ** (snr_db / 10)))


def limited(recording: NDArray[np.float32]) -> NDArray[np.float32]:
    """The recording, quieter where its peak would clip."""
    peak = float(np.abs(recording).max(initial=0.0))
    return recording if peak <= _HIGHEST_PEAK else recording * np.float32(_HIGHEST_PEAK / peak)


def draw_noise(
    rng: random.Random, kind: str, bank: SpeechBank, seconds: float, absent: frozenset[str]
) -> NDArray[np.float32]:
    """Noise of one kind.

    Args:
        rng: Source of every choice.
        kind: A value of `NOISES`.
        bank: What babble is made of.
        seconds: Least length.
        absent: Voices that must not be in the babble.
    """
    return _babble(rng, bank, seconds, absent) if kind == "babble" else _music(rng, seconds)


def _babble(rng: random.Random, bank: SpeechBank, seconds: float, absent: frozenset[str]) -> NDArray[np.float32]:
    """Six streams of utterances, one after another without a pause, that begin in the middle of one."""
    length = round(seconds * SAMPLE_RATE)
    others = [utterance for utterance in bank.utterances if utterance.voice not in absent]
    babble = np.zeros(length, dtype=np.float32)
    for _ in range(_BABBLE_VOICES):
        position = -rng.randrange(SAMPLE_RATE)
        while position < length:
            samples = bank.samples(rng.choice(others))
            first = max(0, -position)
            last = min(len(samples), length - position)
            if first < last:
                babble[position + first : position + last] += samples[first:last]
            position += len(samples)
    return babble


def _music(rng: random.Random, seconds: float) -> NDArray[np.float32]:
    """A pentatonic tune with two overtones a note over a bass note a bar, each note dying away."""
    root = 220.0 * 2 ** (rng.randrange(12) / 12)
    notes = math.ceil(seconds / _NOTE_S) + 1
    step = round(_NOTE_S * SAMPLE_RATE)
    time = np.arange(step * 2) / SAMPLE_RATE
    tune = np.zeros(step * (notes + 2), dtype=np.float64)
    for index in range(notes):
        pitches = [root * 2 ** (rng.choice(_SCALE) / 12)]
        if index % 4 == 0:
            pitches.append(root / 2 * 2 ** (rng.choice((0, 5, 7)) / 12))
        for pitch in pitches:
            tones = sum(np.sin(2 * np.pi * pitch * harmonic * time) / harmonic**2 for harmonic in (1, 2, 3))
            tune[index * step : index * step + len(time)] += tones * np.exp(-4 * time)
    return tune[: math.ceil(seconds * SAMPLE_RATE)].astype(np.float32)
