"""Does an independent recogniser understand the English of the bank? Compared with the recorded clips of live_asr.

    uv run --no-project --with pocketsphinx --with . python tests/benchmarks/speech_intelligibility.py

PocketSphinx (hidden Markov models, its own American English model) knows nothing of Kokoro. Only sentences whose
words are all in its dictionary are asked, so invented brands are left out. Prints the word error rate of each voice.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pocketsphinx
from rapidfuzz.distance import Levenshtein
from tliveomni_eval.tasks.audio_file import read_audio
from tliveomni_eval.tasks.composer.opus_file import SAMPLE_RATE
from tliveomni_eval.tasks.composer.speech_bank import speech_bank
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA

SENTENCES = 45
PAUSE_S = 0.3


def words_of(text: str) -> list[str]:
    return re.sub(r"[^a-z' ]", "", text.lower()).split()


def heard(decoder: Any, samples: np.ndarray) -> list[str]:
    pause = np.zeros(round(PAUSE_S * SAMPLE_RATE), dtype=np.float32)
    padded = np.concatenate([pause, samples * (0.9 / np.abs(samples).max()), pause])
    decoder.start_utt()
    decoder.process_raw((padded * 32767).astype("<i2").tobytes(), full_utt=True)
    decoder.end_utt()
    hypothesis = decoder.hyp()
    return words_of(hypothesis.hypstr) if hypothesis else []


def main() -> None:
    decoder = pocketsphinx.Decoder(samprate=SAMPLE_RATE, loglevel="FATAL")
    dictionary = Path(pocketsphinx.get_model_path("en-us/cmudict-en-us.dict")).read_text(encoding="utf-8")
    known = {line.split()[0].split("(")[0] for line in dictionary.splitlines() if line}
    bank = speech_bank()
    english = [row for row in bank.utterances if row.lang == "en" and known.issuperset(words_of(row.text))]
    said = [(row.voice, row.text, bank.samples(row)) for row in english[:SENTENCES]]
    folder = EMBEDDED_DATA / "live_asr"
    for line in map(json.loads, (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()):
        if line["slices"]["source"] == "real":
            said.append(("recorded", line["reference"], read_audio(folder / line["media"][0]["path"]).samples))
    errors: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for voice, text, samples in said:
        reference = words_of(text)
        wrong = Levenshtein.distance(reference, heard(decoder, samples))
        for name in (voice, *(["bank"] if voice != "recorded" else [])):
            errors[name][0] += wrong
            errors[name][1] += len(reference)
    for name, (wrong, length) in sorted(errors.items()):
        print(f"{name:<14}{wrong / length:6.2f}  of {length} words")


if __name__ == "__main__":
    main()
