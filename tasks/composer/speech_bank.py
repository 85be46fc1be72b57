"""The bank: clean utterances of the evaluation side, one after another in one Ogg Opus file a voice.

    from tliveomni_eval.tasks.composer.speech_bank import speech_bank

    bank = speech_bank()
    greetings = [line for line in bank.utterances if line.lang == "zh" and line.kind == "greeting"]
    samples = bank.samples(greetings[0])  # float32, mono, 16 kHz, no silence at its ends

`tlive compose live_asr`, `live_diarization` and the video composer mix their speech from it; `make compose-speech`
makes it anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import soundfile
from numpy.typing import NDArray
from scipy.signal import resample_poly
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.text.tokens import Language
from tliveomni_eval.tasks.composer.opus_file import SAMPLE_RATE, write_opus
from tliveomni_eval.tasks.composer.speech_lines import SpeechLine
from tliveomni_eval.tasks.composer.speech_voices import Gender, Voice

BANK_FOLDER: Final = Path(__file__).parent / "speech"
INDEX_NAME: Final = "utterances.jsonl"
BIT_RATE: Final = 24_000
LOUDNESS: Final = 0.08
"""Root mean square that each utterance is brought to."""
_HIGHEST_PEAK: Final = 0.95
_GAP_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Utterance:
    """One clean utterance of the bank.

    Attributes:
        id: Of its line (`speech_lines.SpeechLine`), e.g. `eval-zh-0012`.
        lang: Language: `zh`, `en` or `mixed`.
        kind: What the sentence does: `brand`, `sku`, `greeting`, `price`, `question`, `answer`, …
        voice: Name of the Kokoro voice.
        text: Reference transcript.
        names: Brand, product type and code in it that a hotword list may hold.
        start: Seconds from the beginning of the voice's file.
        seconds: Length.
    """

    id: str
    lang: Language
    kind: str
    voice: str
    text: str
    names: tuple[str, ...]
    start: float
    seconds: float

    @property
    def gender(self) -> Gender:
        """Of the speaker."""
        return Voice(self.voice).gender


class SpeechBank:
    """Utterances and their audio.

    Args:
        folder: Holds `utterances.jsonl` and one `VOICE.opus` a voice; without these it can be read, not heard.

    Raises:
        UserError: There is no bank in the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            lines = (folder / INDEX_NAME).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            raise UserError(f"{folder} holds no {INDEX_NAME}; `make compose-speech` makes a bank of speech") from None
        rows = [json.loads(line) for line in lines]
        self.utterances: tuple[Utterance, ...] = tuple(
            Utterance(**{**row, "names": tuple(row["names"])}) for row in rows
        )
        self._voices: dict[str, NDArray[np.float32]] = {}

    def samples(self, utterance: Utterance) -> NDArray[np.float32]:
        """Its audio: float32, mono, 16 kHz, root mean square `LOUDNESS`, without silence at its ends."""
        if utterance.voice not in self._voices:
            audio, _ = soundfile.read(self.folder / f"{utterance.voice}.opus", dtype="float32")
            self._voices[utterance.voice] = audio
        start = round(utterance.start * SAMPLE_RATE)
        return self._voices[utterance.voice][start : start + round(utterance.seconds * SAMPLE_RATE)].copy()


@lru_cache(maxsize=1)
def speech_bank() -> SpeechBank:
    """The embedded bank (evaluation side)."""
    return SpeechBank(BANK_FOLDER)


def write_bank(folder: Path, said: Iterable[tuple[SpeechLine, NDArray[np.float32], int]]) -> None:
    """Write a bank.

    Args:
        folder: New or existing folder.
        said: Each line with its audio and sampling rate.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tracks: dict[str, list[NDArray[np.float32]]] = {}
    lengths: dict[str, int] = {}
    gap = np.zeros(round(_GAP_S * SAMPLE_RATE), dtype=np.float32)
    rows = []
    for line, audio, rate in said:
        samples = with_loudness(np.asarray(resample_poly(audio, SAMPLE_RATE, rate), dtype=np.float32))
        start = lengths.get(line.voice.name, 0)
        tracks.setdefault(line.voice.name, []).extend((samples, gap))
        lengths[line.voice.name] = start + len(samples) + len(gap)
        rows.append(
            Utterance(
                id=line.id,
                lang=line.lang,
                kind=line.kind,
                voice=line.voice.name,
                text=line.text,
                names=line.names,
                start=start / SAMPLE_RATE,
                seconds=len(samples) / SAMPLE_RATE,
            )
        )
    for voice, parts in tracks.items():
        write_opus(folder / f"{voice}.opus", np.concatenate(parts), BIT_RATE)
    text = "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)
    (folder / INDEX_NAME).write_text(text, encoding="utf-8")


def with_loudness(samples: NDArray[np.float32], loudness: float = LOUDNESS) -> NDArray[np.float32]:
    """Samples scaled to a root mean square, or as far as their peak allows."""
    level = float(np.sqrt(np.mean(np.square(samples, dtype=np.float64))))
    peak = float(np.abs(samples).max(initial=0.0))
    if level == 0:
        return samples
    return samples * np.float32(min(loudness / level, _HIGHEST_PEAK / peak))
