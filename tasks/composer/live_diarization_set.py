"""Write a live_diarization data set: dialogues of one to four voices of a bank, with exact turns."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.text.tokens import LANGUAGES, Language
from tliveomni_eval.tasks.composer.live_asr_set import MEDIA_FOLDER, open_bank
from tliveomni_eval.tasks.composer.opus_file import write_opus
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
from tliveomni_eval.tasks.composer.speech_voices import Voice

TASK: Final = "live_diarization"
BIT_RATE: Final = 13_000
SPEAKERS: Final = (1, 2, 3, 4)
OVERLAPS: Final = ("none", "light", "heavy")
"""Slice values of `overlap`: no time, under 10 %, or at least 10 % of the speech time has two speakers."""
HEAVY_SHARE: Final = 0.1
# Slice value -> upper bound of the recording's length in seconds.
DURATIONS: Final = {"0-8": 8.0, "8-12": 12.0, "12+": float("inf")}
_SEED_STRIDE: Final = 1_000_000
_SILENCE_S: Final = (0.2, 0.6)
_PAUSE_S: Final = (0.15, 0.7)
_TURNS: Final = {1: (2, 3), 2: (3, 4), 3: (4, 5), 4: (5, 6)}


@dataclass(frozen=True, slots=True)
class PlannedDialogue:
    """A dialogue to compose.

    Attributes:
        id: Of the sample.
        seed: Of its noise.
        lang: Language of its utterances.
        turns: What is said when.
        seconds: Length of the recording.
        snr_db: A value of `speech_mix.SNR_VALUES`.
        noise: `none`, `babble` or `music`.
        overlap: A value of `OVERLAPS`.
    """

    id: str
    seed: int
    lang: Language
    turns: tuple[PlacedUtterance, ...]
    seconds: float
    snr_db: str
    noise: str
    overlap: str

    @property
    def voices(self) -> tuple[str, ...]:
        """Voices in the order in which they first speak."""
        return tuple(dict.fromkeys(turn.utterance.voice for turn in self.turns))


def plan_dialogues(bank: SpeechBank, count: int, seed: int) -> list[PlannedDialogue]:
    """Plan dialogues, balanced over speakers, language and noise; the overlap rotates through them.

    Utterances of a voice are taken in turn, so that each comes about equally often in the set and never twice in a
    dialogue.

    Args:
        bank: Utterances of at least four voices a language.
        count: Number of dialogues.
        seed: Of the whole set.
    """
    used: Counter[str] = Counter()
    grid = list(product(enumerate(SPEAKERS), enumerate(LANGUAGES), enumerate(SNR_VALUES)))
    dialogues = []
    for index in range(count):
        turn, cell = divmod(index, len(grid))
        (speakers_at, speakers), (lang_at, lang), (snr_at, snr_db) = grid[cell]
        rng = random.Random(seed * _SEED_STRIDE + index)
        wanted = OVERLAPS[(speakers_at + lang_at + snr_at + turn) % len(OVERLAPS)] if speakers > 1 else "none"
        while True:
            trial = used.copy()
            said = _draw_utterances(rng, bank, lang, speakers, trial)
            turns = _timed(rng, said, wanted)
            if overlap_of(turns) == wanted:
                break
        used = trial
        dialogues.append(
            PlannedDialogue(
                id=f"{TASK}-{index:05d}",
                seed=seed * _SEED_STRIDE + index,
                lang=lang,
                turns=turns,
                seconds=max(turn.end for turn in turns) + rng.uniform(*_SILENCE_S),
                snr_db=snr_db,
                noise="none" if snr_db == "clean" else NOISES[(turn + snr_at + lang_at) % len(NOISES)],
                overlap=wanted,
            )
        )
    return dialogues


def _draw_utterances(
    rng: random.Random, bank: SpeechBank, lang: Language, speakers: int, used: Counter[str]
) -> list[Utterance]:
    """Utterances of that many voices: nobody speaks twice in a row where there is another; answers follow questions."""
    of_voice: dict[str, list[Utterance]] = {}
    for utterance in bank.utterances:
        if utterance.lang == lang:
            of_voice.setdefault(utterance.voice, []).append(utterance)
    voices = _draw_voices(rng, sorted(of_voice), speakers)
    order = list(voices)
    for _ in range(rng.randint(*_TURNS[speakers]) - speakers):
        order.append(rng.choice([voice for voice in voices if speakers == 1 or voice != order[-1]]))
    rng.shuffle(order)
    while speakers > 1 and any(one == next_one for one, next_one in pairwise(order)):
        rng.shuffle(order)
    said: list[Utterance] = []
    for voice in order:
        free = [utterance for utterance in of_voice[voice] if utterance not in said]
        if said and said[-1].kind == "question" and any(utterance.kind == "answer" for utterance in free):
            free = [utterance for utterance in free if utterance.kind == "answer"]
        least = min(used[utterance.id] for utterance in free)
        said.append(rng.choice([utterance for utterance in free if used[utterance.id] == least]))
        used[said[-1].id] += 1
    return said


def _draw_voices(rng: random.Random, voices: list[str], speakers: int) -> list[str]:
    """Voices of one gender in half of the dialogues of two or three, where there are enough."""
    by_gender = [[voice for voice in voices if Voice(voice).gender == gender] for gender in ("female", "male")]
    alike = [group for group in by_gender if len(group) >= speakers]
    if alike and (speakers == 1 or rng.random() < 0.5):
        return rng.sample(rng.choice(alike), speakers)
    first, second = (rng.choice(group) for group in by_gender)
    others = [voice for voice in voices if voice not in (first, second)]
    drawn = [first, second, *rng.sample(others, max(0, speakers - 2))][:speakers]
    rng.shuffle(drawn)
    return drawn


def _timed(rng: random.Random, said: list[Utterance], overlap: str) -> tuple[PlacedUtterance, ...]:
    """Place utterances one after another; at most two people speak at a time, nobody over themselves."""
    placed: list[PlacedUtterance] = []
    for utterance in said:
        if not placed:
            placed.append(PlacedUtterance(utterance, round(rng.uniform(*_SILENCE_S), 2)))
            continue
        last = placed[-1]
        start = last.end + rng.uniform(*_PAUSE_S)
        shorter = min(last.utterance.seconds, utterance.seconds)
        if last.utterance.voice != utterance.voice:
            if overlap == "heavy":
                start = last.end - shorter * rng.uniform(0.25, 0.6)
            elif overlap == "light" and rng.random() < 0.5:
                start = last.end - shorter * rng.uniform(0.08, 0.2)
        earliest = max((turn.end for turn in placed[:-1]), default=0.0)
        placed.append(PlacedUtterance(utterance, round(max(start, earliest + 0.01), 2)))
    return tuple(placed)


def overlap_of(turns: tuple[PlacedUtterance, ...]) -> str:
    """The slice value of `overlap`: by the time of two speakers over the time of any."""
    edges = sorted({time for turn in turns for time in (turn.start, turn.end)})
    together = alone = 0.0
    for start, end in pairwise(edges):
        speaking = sum(turn.start <= start and end <= turn.end for turn in turns)
        together += (end - start) * (speaking > 1)
        alone += (end - start) * (speaking == 1)
    if together == 0:
        return "none"
    return "light" if together < HEAVY_SHARE * (together + alone) else "heavy"


def compose_dialogue(bank: SpeechBank, planned: PlannedDialogue) -> NDArray[np.float32]:
    """The recording: float32 mono at 16 kHz."""
    recording = lay_out(bank, planned.turns, planned.seconds)
    if planned.noise != "none":
        rng = random.Random(planned.seed)
        noise = draw_noise(rng, planned.noise, bank, planned.seconds, frozenset(planned.voices))
        active = [(turn.start, turn.end) for turn in planned.turns]
        recording = with_noise(recording, noise, float(planned.snr_db), active)
    return limited(recording)


def dialogue_line(planned: PlannedDialogue) -> dict[str, Any]:
    """The manifest line of a dialogue; speakers are S1, S2, … in the order in which they first speak."""
    label = {voice: f"S{number}" for number, voice in enumerate(planned.voices, start=1)}
    genders = {turn.utterance.gender for turn in planned.turns}
    slices = {
        "lang": planned.lang,
        "speakers": str(len(planned.voices)),
        "overlap": planned.overlap,
        "snr_db": planned.snr_db,
        "noise": planned.noise,
        "duration_s": next(name for name, longest in DURATIONS.items() if planned.seconds < longest),
        "gender": genders.pop() if len(genders) == 1 else "mixed",
    }
    return {
        "id": planned.id,
        "task": TASK,
        "media": [{"type": "audio", "path": f"{MEDIA_FOLDER}/{planned.id}.opus"}],
        "reference": [
            {
                "speaker": label[turn.utterance.voice],
                "start": turn.start,
                "end": round(turn.end, 2),
                "text": turn.utterance.text,
            }
            for turn in planned.turns
        ],
        "slices": dict(sorted(slices.items())),
        "cluster": planned.id,
        "context": {"lang": planned.lang},
    }


def write_dialogue(folder: Path, bank_folder: Path, planned: PlannedDialogue) -> dict[str, Any]:
    """Compose a dialogue, write it, and return its manifest line.

    Raises:
        OSError: The file cannot be written.
    """
    line = dialogue_line(planned)
    write_opus(folder / line["media"][0]["path"], compose_dialogue(open_bank(bank_folder), planned), BIT_RATE)
    return line
