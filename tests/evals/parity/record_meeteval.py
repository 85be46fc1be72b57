"""Records what meeteval computes for random dialogues, so that the tests need neither meeteval nor a C++ compiler.

    pip install meeteval==0.4.3 && python tests/evals/parity/record_meeteval.py

writes `meeteval_cases.jsonl` beside this file: 500 dialogues of 1 to 3 speakers with some speakers, words and times
changed, and the errors and length of cpWER, tcpWER (collar 5 s and 0.5 s) and ORC-WER, each character a word.
"""

from __future__ import annotations

import json
import logging
import random
from pathlib import Path
from typing import Any

CASES = Path(__file__).with_name("meeteval_cases.jsonl")
Turns = list[tuple[str, float, float, str]]


def random_turns(rng: random.Random) -> Turns:
    clock, turns = 0.0, []
    for _ in range(rng.randrange(1, 7)):
        end = clock + rng.uniform(0.5, 4)
        text = "".join(rng.choice("今天气很好价多钱") for _ in range(rng.randrange(1, 9)))
        turns.append((f"S{rng.randrange(3)}", round(clock, 2), round(end, 2), text))
        clock = max(0.0, end + rng.uniform(-0.8, 2))
    return turns


def misheard(turns: Turns, rng: random.Random) -> Turns:
    heard = []
    for speaker, start, end, text in turns:
        if rng.random() < 0.2:
            speaker = f"S{rng.randrange(4)}"
        text = "".join(rng.choice("今天气很好价多钱") if rng.random() < 0.2 else char for char in text)
        shift = rng.choice([0.0, 0.0, 0.4, 3.0, 9.0])
        if rng.random() < 0.9:
            heard.append((speaker, round(start + shift, 2), round(end + shift, 2), text))
    return heard


def main() -> None:
    import meeteval
    from meeteval.io import SegLST

    logging.disable(logging.WARNING)
    rng = random.Random(2023)

    def segments(turns: Turns) -> Any:
        keys = ("speaker", "start_time", "end_time", "words")
        spaced = [(speaker, start, end, " ".join(text)) for speaker, start, end, text in turns]
        return SegLST([{"session_id": "x", **dict(zip(keys, turn, strict=True))} for turn in spaced])

    def counted(rate: Any) -> list[int]:
        return [int(rate.errors), int(rate.length)]

    with CASES.open("w", encoding="utf-8") as file:
        for _ in range(500):
            said = random_turns(rng)
            heard = misheard(said, rng) or [("S9", 0.0, 1.0, "好")]
            ref, hyp = segments(said), segments(heard)
            tcp = meeteval.wer.wer.time_constrained.tcp_word_error_rate
            case = {
                "reference": said,
                "hypothesis": heard,
                "cp": counted(meeteval.wer.wer.cp.cp_word_error_rate(ref, hyp)),
                "tcp_5": counted(tcp(ref, hyp, collar=5)),
                "tcp_0.5": counted(tcp(ref, hyp, collar=0.5)),
                "orc": counted(meeteval.wer.wer.orc.orc_word_error_rate(ref, hyp)),
            }
            file.write(json.dumps(case, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
