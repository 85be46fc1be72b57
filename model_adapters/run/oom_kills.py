"""How often the kernel has ended a process of this machine because memory ran out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_COUNTERS = (Path("/proc/vmstat"), Path("/sys/fs/cgroup/memory.events"))


def oom_kills(counters: Sequence[Path] = _COUNTERS) -> int:
    """Kills that the kernel counts, of the machine and of this control group; 0 where it counts none or tells nobody.

    Only growth means anything: it tells a process that memory ran out for from one that somebody killed.

    Args:
        counters: Files with lines `name number`.
    """
    return sum(_count(path) for path in counters)


def _count(path: Path) -> int:
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0
    return sum(int(words[1]) for line in lines if len(words := line.split()) == 2 and words[0] == "oom_kill")
