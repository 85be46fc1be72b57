"""Fuzz the readers: `python tests/fuzz/fuzz.py --inputs 1000000`.

One input in ten is thought of by hypothesis, which shrinks what it finds; the others are the same kinds of text by
plain chance, of which there are more in a second. What crashes or hangs a reader is kept in `tests/fuzz/corpus/`, which
the test suite reads for ever after.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import sys
import time
from pathlib import Path

from fuzz_targets import TARGETS, inputs_of, random_input, read_hostile
from hypothesis import HealthCheck, Phase, given, seed, settings

CORPUS = Path(__file__).parent / "corpus"
BY_HYPOTHESIS = 0.1
BATCH = 5_000
"""Inputs a hypothesis run: it remembers them all, so that a run of a million would fill the memory."""

HANG_S = 2.0
"""Processor seconds of one input, several hundred times what the slowest takes."""


class Feeder:
    """Feeds one target, and keeps count.

    Args:
        name: Of the target.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.target = TARGETS[name]
        self.done = self.faults = 0
        self.slowest = 0.0
        self._last = ""

    def feed(self, text: str) -> None:
        """Read one input.

        Raises:
            Exception: What the reader raised; or AssertionError where it took too long.
        """
        self.done += 1
        self._last = text
        began = time.process_time()
        read_hostile(self.target, text)
        took = time.process_time() - began
        self.slowest = max(self.slowest, took)
        assert took < HANG_S, f"took {took:.1f} s"

    def keep(self, error: Exception) -> None:
        """Keep the last input, which caused an error."""
        self.faults += 1
        content = self._last.encode("utf-8", "surrogatepass")
        path = CORPUS / self.name / f"{hashlib.sha256(content).hexdigest()[:16]}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        print(f"{self.name}: {type(error).__name__}: {str(error)[:200]!r} kept as {path}", flush=True)

    def by_chance(self, inputs: int, first_seed: int) -> None:
        """Feed random inputs; the same for the same seed."""
        chance = random.Random(f"{self.name} {first_seed}")
        for _ in range(inputs):
            try:
                self.feed(random_input(chance, self.target))
            except Exception as error:
                self.keep(error)

    def by_hypothesis(self, inputs: int, first_seed: int) -> None:
        """Feed what hypothesis thinks of; a batch ends with its first fault, shrunk, and the next one goes on."""
        wanted = self.done + inputs
        number = first_seed
        while self.done < wanted and number < first_seed + 4 * (1 + inputs // BATCH):
            number += 1
            batch = seed(number)(
                settings(
                    max_examples=min(BATCH, wanted - self.done), database=None, deadline=None, print_blob=False,
                    suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink),
                )(given(inputs_of(self.target))(self.feed))
            )  # fmt: skip
            try:
                batch()
            except Exception as error:
                self.keep(error)


def main() -> int:
    """Fuzz every target with its share; 1 where anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="In all.")
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    os.nice(10)
    began = time.monotonic()
    total = found = 0
    for name, target in TARGETS.items():
        feeder = Feeder(name)
        share = int(target.share * wanted.inputs)
        feeder.by_hypothesis(int(BY_HYPOTHESIS * share), wanted.seed)
        feeder.by_chance(share - feeder.done, wanted.seed)
        total, found = total + feeder.done, found + feeder.faults
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name}: {feeder.done:,} inputs, {feeder.faults} faults, slowest {feeder.slowest * 1000:.0f} ms, "
            f"{memory:.0f} MiB",
            flush=True,
        )
    print(f"{total:,} inputs in {time.monotonic() - began:.0f} s, {found} faults", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
