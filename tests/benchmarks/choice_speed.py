"""How fast multiple-choice answers are read and grouped on one core.

Run: `python tests/benchmarks/choice_speed.py [--answers 100000]`. The limit is 5 s for 100,000 answers. The answers are
those of `tests/evals/data/choice_answers.jsonl` in turn, with the rotations of four-option questions as their place.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import cycle, islice
from pathlib import Path

from tliveomni_eval.evals.metrics.choice_answer import read_choice
from tliveomni_eval.evals.metrics.circular_eval import ROTATION_STRIDE, RotationAnswer, circular_report

ANSWERS = Path(__file__).resolve().parents[1] / "evals" / "data" / "choice_answers.jsonl"
LIMIT_S = 5.0


def main() -> None:
    """Reads, groups and prints the two times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=100_000, help="how many answers, a multiple of 4")
    count = parser.parse_args().answers
    lines = ANSWERS.read_text("utf-8").splitlines()
    rows = list(islice(cycle([json.loads(line) for line in lines]), count))
    place = {"A": "w", "B": "x", "C": "y", "D": "z"}

    started = time.process_time()
    letters = [read_choice(row["output"], row["options"]).letter for row in rows]
    read_s = time.process_time() - started
    started = time.process_time()
    report = circular_report(
        RotationAnswer(number // 4 + number % 4 * ROTATION_STRIDE, place, "ABCD"[number % 4], letter)
        for number, letter in enumerate(letters)
    )
    group_s = time.process_time() - started
    total = read_s + group_s
    print(
        f"{count} answers: read in {read_s:.2f} s, grouped into {report.circular.den:.0f} questions in {group_s:.2f} s"
    )
    print(f"{total:.2f} s of processor time, limit {LIMIT_S:.0f} s: {'met' if total < LIMIT_S else 'MISSED'}")


if __name__ == "__main__":
    main()
