"""How fast slices are compared: `python tests/benchmarks/gate_speed.py` prints a table.

Two sizes: 1,000,000 samples in 200 overlapping slices, and 10,000 samples in 40, each with 10,000 bootstrap replicates
of a ratio metric. Beside them, on one slice and few replicates, a plain numpy loop over replicates, scipy's paired
bootstrap of the mean change, and statsmodels' McNemar test; their times are scaled to the same number of replicates
and slices, since whole runs would take hours.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table
from tliveomni_eval.evals.statistics.inference import compare_slices
from tliveomni_eval.evals.statistics.paired_slices import PairedSums

REPLICATES = 10_000
_TRIED = 20


def error_runs(n_samples: int, n_slices: int) -> PairedSums:
    """Two runs of a character error rate; slices hold 1 % to half of the samples and overlap."""
    rng = np.random.default_rng(0)
    length = rng.integers(5, 60, n_samples).astype(float)
    baseline = rng.binomial(length.astype(int), 0.05).astype(float)
    candidate = np.clip(baseline + (rng.random(n_samples) < 0.1) * rng.integers(-1, 3, n_samples), 0, length)
    shares = rng.choice([0.01, 0.05, 0.2, 0.5], n_slices, p=[0.4, 0.3, 0.2, 0.1])
    slices = {f"slice {i}": np.flatnonzero(rng.random(n_samples) < share) for i, share in enumerate(shares)}
    return PairedSums.of(baseline, length, candidate, length, slices=slices, kind="error")


def numpy_loop(paired: PairedSums) -> float:
    """Processor seconds for one replicate of every slice in a loop: draw, index, sum, divide."""
    rng = np.random.default_rng(0)
    started = time.process_time()
    for _ in range(_TRIED):
        for members in list(paired.slices.values())[:4]:
            drawn = members[rng.integers(0, members.size, members.size)]
            [float(array[drawn].sum()) for array in (paired.num_baseline, paired.den_baseline, paired.num_candidate)]
    seen = sum(members.size for members in list(paired.slices.values())[:4])
    everything = sum(members.size for members in paired.slices.values())
    return (time.process_time() - started) / _TRIED * everything / seen


def scipy_bootstrap(paired: PairedSums) -> float:
    """Processor seconds for one replicate of every slice with `scipy.stats.bootstrap` (the mean of the change)."""
    from scipy.stats import bootstrap

    members = next(iter(paired.slices.values()))
    change = paired.num_candidate[members] - paired.num_baseline[members]
    started = time.process_time()
    bootstrap((change,), np.mean, n_resamples=_TRIED, method="percentile", batch=5)
    everything = sum(array.size for array in paired.slices.values())
    return (time.process_time() - started) / _TRIED * everything / members.size


def statsmodels_mcnemar(paired: PairedSums) -> float:
    """Processor seconds for statsmodels' exact McNemar test of every slice, which gives no interval for a loss."""
    from statsmodels.stats.contingency_tables import mcnemar

    started = time.process_time()
    for members in paired.slices.values():
        right = paired.num_baseline[members] == 0, paired.num_candidate[members] == 0
        table = [[int((a & b).sum()) for b in (right[1], ~right[1])] for a in (right[0], ~right[0])]
        mcnemar(table, exact=True)
    return time.process_time() - started


def _seconds(call: Callable[[], object]) -> tuple[float, float]:
    started, processor = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - started, time.process_time() - processor


def main() -> None:
    """Measure both sizes and print the table."""
    table = Table(title=f"Comparison of slices, ratio metric, {REPLICATES:,} replicates")
    for heading in ("samples", "slices", "what", "seconds", "processor seconds"):
        table.add_column(heading, justify="right")
    for n_samples, n_slices in ((10_000, 40), (1_000_000, 200)):
        size = (f"{n_samples:,}", str(n_slices))
        paired = error_runs(n_samples, n_slices)
        wall, processor = _seconds(lambda paired=paired: compare_slices(paired, replicates=REPLICATES))
        table.add_row(*size, "compare_slices", f"{wall:.2f}", f"{processor:.2f}")
        table.add_row(*size, "numpy loop (scaled)", "", f"{numpy_loop(paired) * REPLICATES:,.0f}")
        table.add_row(*size, "scipy bootstrap (scaled)", "", f"{scipy_bootstrap(paired) * REPLICATES:,.0f}")
        table.add_row(*size, "statsmodels McNemar, no interval", "", f"{statsmodels_mcnemar(paired):.2f}")
    start = "import tliveomni_eval.evals.statistics.inference"
    wall, _ = _seconds(lambda: subprocess.run([sys.executable, "-c", start], check=True))
    table.add_row("", "", "process start and import", f"{wall:.2f}", "")
    Console().print(table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"largest resident memory: {peak:.2f} GiB")


if __name__ == "__main__":
    main()
