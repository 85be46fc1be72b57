"""How long `tlive gate` takes from process start to exit: `python tests/benchmarks/gate_command_speed.py`.

Two run folders of 10,000 samples with 40 slices of 8 attributes are written into a temporary folder and compared.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "evals"))

from run_folder_builder import tlive_rows, write_lines, write_tlive_run

SAMPLES = 10_000
ATTRIBUTES = 8
VALUES = 5
REPEATS = 3


def write_run(folder: Path, error_rate: float, seed: int) -> Path:
    """A run folder of ours whose samples lie in one slice of every attribute."""
    right = np.random.default_rng(seed).random(SAMPLES) >= error_rate
    rows = tlive_rows(right.tolist())
    for position, row in enumerate(rows):
        row["record"]["slices"] = {
            f"attribute_{number}": f"value_{position * (number + 3) // (number + 1) % VALUES}"
            for number in range(ATTRIBUTES)
        }
    run = write_tlive_run(folder, right.tolist())
    write_lines(next(run.rglob("*_samples_*.jsonl")), rows)
    return run


def main() -> None:
    """Prints wall and processor seconds of each repetition; the requirement is 2 s on an idle machine."""
    with tempfile.TemporaryDirectory() as temporary:
        baseline = write_run(Path(temporary) / "bf16", 0.05, seed=1)
        candidate = write_run(Path(temporary) / "w8a8", 0.05, seed=2)
        command = [str(Path(sys.executable).with_name("tlive")), "gate"]
        command += ["--baseline", str(baseline), "--candidate", str(candidate)]
        for _ in range(REPEATS):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            started = time.perf_counter()
            finished = subprocess.run(command, capture_output=True, text=True, check=False)
            wall = time.perf_counter() - started
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"{SAMPLES:,} samples, {ATTRIBUTES * VALUES} slices: {wall:.2f} s ({processor:.2f} s of processor)")
            assert finished.returncode in (0, 1, 2), finished.stderr


if __name__ == "__main__":
    main()
