"""How fast grounding, localization, choice and yes/no answers are scored on one core, and the slowest hostile output.

Run: `python tests/benchmarks/grounding_speed.py [--samples 10000]`. The limits are 10 s of processor time for 10,000
samples of temporal grounding and of localization (AP apart), and 1 s for any single output.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tliveomni_eval.evals.metrics.average_precision import ReferenceBox
from tliveomni_eval.evals.metrics.choice_answer import read_choice
from tliveomni_eval.evals.metrics.hallusionbench import read_yes_no
from tliveomni_eval.evals.metrics.localization import score_localization
from tliveomni_eval.evals.metrics.set_payload import DetectionPayload, PooledDetections
from tliveomni_eval.evals.metrics.temporal_grounding import score_temporal_grounding

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "evals"))
from hostile_outputs import HUGE_OUTPUTS

SAMPLES_LIMIT_S = 10.0
OUTPUT_LIMIT_S = 1.0
REPLICATES = 2000


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def verdict(value: float, limit: float) -> str:
    """The time beside its limit."""
    return f"{value:.2f} s, limit {limit:.0f} s: {'met' if value < limit else 'MISSED'}"


def score_spans(samples: int) -> None:
    """One to four segments a query, answered with small errors."""
    rng = random.Random(1)
    for _ in range(samples):
        starts = [rng.uniform(0, 600) for _ in range(rng.randint(1, 4))]
        reference = [(start, start + rng.uniform(3, 60)) for start in starts]
        output = ", ".join(f"{start + rng.gauss(0, 2):.1f}s - {end + 3:.1f}s" for start, end in reference)
        score_temporal_grounding(reference, output)


def score_boxes(samples: int) -> list[DetectionPayload]:
    """One to six instances an image, answered as Qwen3-VL does."""
    rng = random.Random(2)
    payloads = []
    for _ in range(samples):
        references, stated = [], []
        for _ in range(rng.randint(1, 6)):
            x, y, width, height = (rng.randint(1, 300) for _ in range(4))
            references.append(ReferenceBox((x, y, x + width, y + height), rng.choice(("cup", "shoe"))))
            stated.append({"bbox_2d": [x, y + rng.randint(0, 30), x + width, y + height + 1], "label": "cup"})
        output = f"```json\n{json.dumps(stated)}\n```"
        _, payload = score_localization(
            references, output, space="relative_1000", width=1000, height=1000, compare_labels=True
        )
        payloads.append(payload)
    return payloads


def main() -> None:
    """Prints one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    samples = parser.parse_args().samples
    print(f"temporal grounding, {samples} samples: {verdict(seconds(lambda: score_spans(samples)), SAMPLES_LIMIT_S)}")
    print(f"localization, {samples} samples: {verdict(seconds(lambda: score_boxes(samples)), SAMPLES_LIMIT_S)}")
    pool = PooledDetections(score_boxes(800))
    weights = np.random.default_rng(3).multinomial(800, [1 / 800] * 800, size=REPLICATES)
    print(
        f"AP of 800 images, {REPLICATES} bootstrap replicates: {seconds(lambda: pool.average_precision(weights)):.2f} s"
    )
    scorers: dict[str, Callable[[str], object]] = {
        "temporal grounding": lambda output: score_temporal_grounding([(1.0, 2.0)], output),
        "localization": lambda output: score_localization(
            [ReferenceBox((1, 1, 9, 9))], output, space="pixels", width=99, height=99
        ),
        "choice": lambda output: read_choice(output, {"A": "red", "B": "blue"}),
        "yes or no": read_yes_no,
    }
    for name, scorer in scorers.items():
        slowest = max(seconds(lambda scorer=scorer, output=output: scorer(output)) for output in HUGE_OUTPUTS)
        print(
            f"slowest of {len(HUGE_OUTPUTS)} hostile outputs of a megabyte, {name}: {verdict(slowest, OUTPUT_LIMIT_S)}"
        )


if __name__ == "__main__":
    main()
