"""How long scoring takes: seconds on one core for 10,000 samples of each scorer, and for the worst single output.

    python tests/benchmarks/scoring_speed.py [--samples N] [--json]

Samples are made on the spot (seeded) and look like those of the tasks: price tags, spec tables of 6 rows and 3 columns,
utterances of about 50 characters with 20 hotwords, dialogues of 12 turns and 3 speakers, each with some errors. Times
are of the processor, not of the clock, so a busy machine does not change them much.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from tliveomni_eval.evals.metrics.asr import score_asr
from tliveomni_eval.evals.metrics.diarization import score_diarization
from tliveomni_eval.evals.metrics.ocr import OcrField, score_ocr
from tliveomni_eval.evals.metrics.speaker_turns import Turn

LIMIT_S = {"OCR fields": 10.0, "OCR tables (TEDS)": 60.0, "ASR": 10.0, "diarization": 60.0}
CHARS = "欢迎来到直播间今天给大家带来的是新款精华水乳套装现在下单还送小样"
PRICES = ["一百二十九块九", "九块九", "￥129.90", "129.9元", "两千零一十二元", "$12.99"]
Call = Callable[[], Any]


def misread(text: str, rng: random.Random, share: float = 0.05) -> str:
    return "".join(rng.choice(CHARS) if rng.random() < share and char not in "|\n-" else char for char in text)


def sentence(rng: random.Random, length: int) -> str:
    return "".join(rng.choice(CHARS) for _ in range(length))


def ocr_fields(rng: random.Random) -> Call:
    field: OcrField = rng.choice(["price", "sku", "name", "promo"])
    reference = {
        "price": f"¥{rng.randrange(1, 2000)}.{rng.randrange(10)}",
        "sku": f"AB-{rng.randrange(1000, 9999)}",
        "name": sentence(rng, 10) + " 50ml",
        "promo": f"满{rng.randrange(100, 400)}减{rng.randrange(10, 90)} " + sentence(rng, 8),
    }[field]
    output = misread(reference, rng)
    return lambda: score_ocr(reference, f"价格是{output}" if field == "price" else output, field)


def ocr_tables(rng: random.Random) -> Call:
    rows = [[sentence(rng, 3), f"{rng.randrange(10, 500)}ml", f"¥{rng.randrange(10, 999)}.9"] for _ in range(6)]
    lines = ["| 规格 | 容量 | 价格 |", "|---|---|---|", *("| " + " | ".join(row) + " |" for row in rows)]
    reference = "\n".join(lines)
    output = misread(reference, rng, 0.1)
    return lambda: score_ocr(reference, output, "table")


def asr(rng: random.Random) -> Call:
    hotwords = [sentence(rng, rng.randrange(2, 6)) for _ in range(20)]
    said = "，".join([sentence(rng, 15), hotwords[0], sentence(rng, 15), "只要" + rng.choice(PRICES), hotwords[1]])
    output = misread(said, rng)
    return lambda: score_asr(said, output, lang="zh", hotwords=hotwords)


def diarization(rng: random.Random) -> Call:
    clock, turns = 0.0, []
    for _ in range(12):
        end = clock + rng.uniform(1, 4)
        turns.append(Turn(f"S{rng.randrange(3)}", round(clock, 2), round(end, 2), sentence(rng, rng.randrange(5, 20))))
        clock = end - 0.3
    heard = [
        {
            "speaker": turn.speaker if rng.random() < 0.9 else f"S{rng.randrange(3)}",
            "start": turn.start,
            "end": turn.end,
            "text": misread(turn.text, rng),
        }
        for turn in turns
    ]
    output = json.dumps(heard, ensure_ascii=False)
    return lambda: score_diarization(turns, output)


MAKERS: dict[str, Callable[[random.Random], Call]] = {
    "OCR fields": ocr_fields,
    "OCR tables (TEDS)": ocr_tables,
    "ASR": asr,
    "diarization": diarization,
}


def worst_calls() -> Iterator[tuple[str, str, Call]]:
    """Every scorer on outputs of a million characters made of one repeated piece."""
    table = "| a | b | c |\n|---|---|---|\n" + "| 小样 | 50ml | ¥19.9 |\n" * 40
    turns = [Turn(f"S{at % 4}", at * 3.0, at * 3.0 + 3, CHARS) for at in range(120)]
    cell, row, turn = "<td>好</td>", "| 小样 | ¥19.9 | 50ml |\n", '{"speaker":"S","start":1,"end":2,"text":"好好"},'
    for piece in (
        "a",
        "好",
        "9",
        "9.",
        "块九",
        "萬",
        "[",
        "{",
        '{"',
        "<b>",
        "<table>",
        "|",
        "```\n",
        cell,
        row,
        turn,
        "[0-1] S: 好\n",
    ):
        output = piece * (1_000_000 // len(piece))
        opened = "[" + output if piece == turn else output
        yield "OCR fields", piece, lambda text=output: score_ocr("¥19.9", text, "price")
        yield "OCR tables (TEDS)", piece, lambda text=output: score_ocr(table, "<table><tr>" + text, "table")
        yield "OCR tables (TEDS)", piece, lambda text=output: score_ocr(table, text, "table")
        yield (
            "ASR",
            piece,
            lambda text=output: score_asr(CHARS * 100, text, lang="zh", hotwords=[CHARS[:9], CHARS[4:20]]),
        )
        yield "diarization", piece, lambda text=opened: score_diarization(turns, text)
    many = "\n".join(f"[{at}-{at + 3}] S{at % 97}: {CHARS}" for at in range(400))
    yield "diarization", "97 speakers", lambda: score_diarization(turns, many)


def seconds(calls: list[Call]) -> float:
    began = time.process_time()
    for call in calls:
        call()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    worst: dict[str, tuple[float, str]] = {}
    for name, piece, call in worst_calls():
        worst[name] = max(worst.get(name, (0.0, "")), (seconds([call]), piece))
    results = []
    for name, make in MAKERS.items():
        rng = random.Random(0)
        calls = [make(rng) for _ in range(options.samples)]
        calls[0]()
        results.append(
            {
                "scorer": name,
                "samples": options.samples,
                "seconds": round(seconds(calls), 2),
                "limit_s": LIMIT_S[name] * options.samples / 10_000,
                "worst_output_s": round(worst[name][0], 3),
                "worst_output": worst[name][1],
            }
        )
    if options.json:
        print(json.dumps(results, ensure_ascii=False))
        return
    table = Table("scorer", "samples", "seconds", "limit", "slowest output (limit 1 s)", "made of")
    for result in results:
        table.add_row(*(str(value).strip() for value in result.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
