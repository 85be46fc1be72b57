"""Synthesise the lines of a bank, one FLAC file each, and write the bank of them.

    python -m tliveomni_eval.tasks.composer.synthesize_speech --voices DIR --out DIR --bank DIR [--side train]

A line that has its file in `--out` already is not said again, so an interrupted run goes on. `make compose-speech` runs
it in an environment of its own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import soundfile
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.tasks.composer.kokoro_synthesis import SAMPLE_RATE, Kokoro
from tliveomni_eval.tasks.composer.speech_bank import write_bank
from tliveomni_eval.tasks.composer.speech_lines import SpeechLine, plan_lines

EMBEDDED_LINES = 414
EMBEDDED_SEED = 3
_REPORT_EVERY = 20


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--voices", type=Path, required=True, help="folder voices of npm kokoro-js")
    parser.add_argument("--out", type=Path, required=True, help="folder for the FLAC files")
    parser.add_argument("--bank", type=Path, help="folder for the bank; none is written without it")
    parser.add_argument("--side", choices=["eval", "train"], default="eval")
    parser.add_argument("--lines", type=int, default=EMBEDDED_LINES)
    parser.add_argument("--seed", type=int, default=EMBEDDED_SEED)
    parser.add_argument("--workers", type=int, default=1, help="processes; each takes the memory of a model")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    lines = plan_lines(arguments.side, arguments.lines, arguments.seed)
    missing = [line for line in lines if not (arguments.out / f"{line.id}.flac").exists()]
    print(f"{len(lines)} lines, {len(missing)} to say", flush=True)
    if missing:
        _say(missing, arguments.voices, arguments.out, arguments.workers)
    if arguments.bank is not None:
        said = ((line, *soundfile.read(arguments.out / f"{line.id}.flac", dtype="float32")) for line in lines)
        write_bank(arguments.bank, said)
        print(f"bank of {len(lines)} utterances in {arguments.bank}")


def _say(missing: Sequence[SpeechLine], voices: Path, out: Path, workers: int) -> None:
    started, seconds = time.monotonic(), 0.0
    with ProcessPoolExecutor(workers, initializer=_load, initargs=(voices,)) as pool:
        for number, length in enumerate(pool.map(_write, missing, [out] * len(missing)), start=1):
            seconds += length
            if number % _REPORT_EVERY == 0 or number == len(missing):
                spent = time.monotonic() - started
                left = spent / number * (len(missing) - number)
                progress = f"{seconds:.0f} s of speech in {spent:.0f} s, {left:.0f} s left"
                print(f"{number}/{len(missing)} lines, {progress}", flush=True)


_kokoro: list[Kokoro] = []


def _load(voices: Path) -> None:
    _kokoro.append(Kokoro(voices))


def _write(line: SpeechLine, out: Path) -> float:
    """Say a line into its file; returns its seconds."""
    audio = _kokoro[0].say(line)
    if len(audio) == 0:
        raise UserError(f"line {line.id} ({line.spoken!r}) came out silent")
    path = out / f"{line.id}.flac"
    soundfile.write(path.with_suffix(".part"), audio, SAMPLE_RATE, format="FLAC")
    path.with_suffix(".part").rename(path)
    return len(audio) / SAMPLE_RATE


if __name__ == "__main__":
    main()
