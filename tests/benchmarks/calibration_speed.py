"""`tlive calibrate` on a manifest of 1,000,000 lines: seconds and peak memory of the command.

    .venv/bin/python tests/benchmarks/calibration_speed.py [--lines 1000000] [--pictures 20000]

The manifest mixes seven tasks with thousands of different prompts; its pictures are small random ones. Making it is not
counted. The embedded sets are read as evaluation data, as always.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

LIMIT_S = 60.0
LIMIT_BYTES = 2 * 2**30
TASKS = ("live_ocr", "live_table", "live_chart", "live_counting", "live_spatial", "chat", "translate")


def make(folder: Path, lines: int, pictures: int) -> None:
    """Write the manifest and its pictures."""
    (folder / "media").mkdir(parents=True)
    numbers = np.random.default_rng(0)
    for number in range(pictures):
        coarse = numbers.integers(0, 256, (10, 10, 3), dtype=np.uint8)
        size = 96 if number % 3 else 320
        Image.fromarray(coarse).resize((size, size), Image.Resampling.BILINEAR).save(folder / f"media/{number}.jpg")
    chance = random.Random(0)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(3000)]
    with (folder / "manifest.jsonl").open("w", encoding="utf-8") as file:
        for number in range(lines):
            task = TASKS[number % len(TASKS)]
            words_in = " ".join(chance.choices(words, k=chance.randint(3, 60)))
            prompt = (
                f"What is the {words_in} here? Answer with a number only." if number % 2 else f"读出 {words_in} 的价格"
            )
            media = [] if task in ("chat", "translate") else [f"media/{chance.randrange(pictures)}.jpg"]
            line = {"id": str(number), "task": task, "media": media, "prompt": prompt, "reference": f"¥{number}"}
            line |= {"cluster": f"stream-{number // 20}", "slices": {"lang": "en" if number % 2 else "zh"}}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def main() -> int:
    """Make the data, run the command, compare with the limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--pictures", type=int, default=20_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "pool"
        make(folder, given.lines, given.pictures)
        tlive = Path(sys.executable).parent / "tlive"
        start = time.perf_counter()
        words = [tlive, "calibrate", folder, "--out", Path(scratch) / "out"]
        done = subprocess.run([str(word) for word in words], check=False, stderr=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        memory = used.ru_maxrss * 1024
    print(
        f"{given.lines:,} lines: {seconds:.1f} s of {LIMIT_S:.0f} ({used.ru_utime + used.ru_stime:.1f} s of cores), "
        f"{memory / 2**30:.2f} GiB of {LIMIT_BYTES / 2**30:.0f}"
    )
    return 0 if done.returncode == 0 and seconds < LIMIT_S and memory < LIMIT_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
