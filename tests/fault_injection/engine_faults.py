"""Faults of engine, disk and clock over a real run: `python tests/fault_injection/engine_faults.py`.

A request that raises, aborts, crashes or hangs the engine is given up after its second time, is counted as an error and
named, and every other answer is that of a run without a fault. A full and a read-only disk (mounted: needs root) end a
run with a word, and it goes on when they are mended. A clock that jumps changes nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import faulty_engine
from interrupted_runs import FaultError, check_equal_logs, check_kept, journal_rows

TLIVE = Path(sys.executable).parent / "tlive"
POISONED = 5
HANG_TIMEOUT_S = 20
CLOCK = """
import random, time
_real = time.time
time.time = lambda: _real() + random.choice([-3e8, 0, 3e8])
"""


def tlive_run(
    out: Path, limit: int, words: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the embedded checkpoint over `live_ocr` into `OUT/bf16`."""
    command = [TLIVE, "run", "--variants", "bf16", "--limit", str(limit), "--no-store", "--no-canaries", "--out", out]
    return subprocess.run(
        [*map(str, command), *words], env=os.environ | environment, stdin=subprocess.DEVNULL, text=True,
        capture_output=True, check=False, timeout=900,
    )  # fmt: skip


def expect(condition: object, message: str) -> None:
    """Raise `FaultError` unless a condition holds."""
    if not condition:
        raise FaultError(message)


def samples(out: Path) -> list[dict[str, Any]]:
    """Lines of the log of samples."""
    (path,) = (out / "bf16").rglob("*_samples_live_ocr.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def poisoned_sample(kind: str, reference: Path, scratch: Path, limit: int) -> str:
    """A request that lets the engine fail.

    Args:
        kind: One of `faulty_engine.KINDS`.
        reference: `--out` of a run without a fault.
        scratch: An empty folder.
        limit: Samples.

    Returns:
        What was seen, in a line.
    """
    plugin = faulty_engine.install(scratch / "plugin")
    planted = {faulty_engine.VARIABLE: f"{kind}:{POISONED}", "PYTHONPATH": str(plugin)}
    ended = tlive_run(scratch, limit, ("--hang-timeout", str(HANG_TIMEOUT_S)), **planted)
    said = ended.stdout + ended.stderr
    expect(ended.returncode == 0, f"status {ended.returncode}: {said[-2000:]}")
    expect(f"document {POISONED}" in said, f"the sample is not named: {said[-2000:]}")
    for right, found in zip(samples(reference), samples(scratch), strict=True):
        if found["doc_id"] == POISONED:
            expect(found["record"]["status"] == "error", f"status {found['record']['status']!r}")
        else:
            expect(found == right, f"document {found['doc_id']} has another answer")
    if kind.startswith("hang"):
        log = (scratch / "bf16" / "run.log").read_text(encoding="utf-8", errors="replace")
        expect("_fail" in log, "run.log has no stack of the hang")
    info = json.loads((scratch / "bf16" / "run.json").read_text())
    named = [(one["task"], one["document"]) for one in info["quarantined"]]
    expect(named == [("live_ocr", POISONED)], f"run.json names {named}")
    return f"given up and named, {limit - 1} others answered: {info['quarantined'][0]['reason'][:60]}"


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Callable[[str], None]]:
    """A file system in memory; yields what remounts it with other options."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tlive-faults", folder], check=True)
    try:
        yield lambda options: subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True) and None
    finally:
        subprocess.run(["umount", folder], check=True)


def full_disk(reference: Path, scratch: Path, limit: int) -> str:
    """A disk that is full after some answers."""
    out = scratch / "disk"
    with small_disk(out, 96) as remount:
        ended = tlive_run(out, limit)
        expect(ended.returncode == 1, f"status {ended.returncode} on a full disk")
        expect("full" in ended.stderr and "Traceback" not in ended.stderr, f"said {ended.stderr[-800:]}")
        remount("size=64m")
        kept = journal_rows(out / "bf16")
        ended = tlive_run(out, limit)
        expect(ended.returncode == 0, f"status {ended.returncode} with room again: {ended.stderr[-800:]}")
        check_kept(kept, journal_rows(out / "bf16"))
        check_equal_logs(reference / "bf16", out / "bf16")
    return f"refused with a word, {len(kept)} answers kept, went on when there was room"


def read_only_disk(reference: Path, scratch: Path, limit: int) -> str:
    """A disk that nothing can be written to."""
    out = scratch / "disk"
    with small_disk(out, 64_000) as remount:
        (out / "bf16").mkdir()
        remount("ro")
        ended = tlive_run(out, limit)
        expect(ended.returncode == 1 and "--out" in ended.stderr, f"{ended.returncode}: {ended.stderr[-800:]}")
        expect("Traceback" not in ended.stderr, "a traceback")
        remount("rw")
        ended = tlive_run(out, limit)
        expect(ended.returncode == 0, f"status {ended.returncode} when mended: {ended.stderr[-800:]}")
        check_equal_logs(reference / "bf16", out / "bf16")
    return "refused with a word, ran when mended"


def jumping_clock(reference: Path, scratch: Path, limit: int) -> str:
    """A clock that jumps by ten years between any two looks at it."""
    (scratch / "clock").mkdir()
    (scratch / "clock" / "sitecustomize.py").write_text(CLOCK)
    clock = {"PYTHONPATH": str(scratch / "clock")}
    ended = tlive_run(scratch, limit, **clock)
    expect(ended.returncode == 0, f"status {ended.returncode}: {ended.stderr[-800:]}")
    rows = journal_rows(scratch / "bf16")
    jumps = len({round(written_at / 1e8) for _, written_at in rows.values()})
    expect(jumps > 1, "the clock did not jump")
    ended = tlive_run(scratch, limit, **clock)
    expect(ended.returncode == 0 and journal_rows(scratch / "bf16") == rows, "answers were given again")
    check_equal_logs(reference / "bf16", scratch / "bf16")
    return f"{len(rows)} answers with {jumps} different years, none lost or given again"


def main() -> int:
    """Run all faults, or those that are named; 1 where one was not survived."""
    cases: dict[str, Callable[[Path, Path, int], str]] = {
        kind: lambda reference, scratch, limit, kind=kind: poisoned_sample(kind, reference, scratch, limit)  # type: ignore[misc]
        for kind in faulty_engine.KINDS
    }
    cases |= {"full disk": full_disk, "read-only disk": read_only_disk, "clock": jumping_clock}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=sorted(cases), action="append")
    parser.add_argument("--limit", type=int, default=16)
    given = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tlive-faults-") as folder:
        reference = Path(folder) / "reference"
        expect(tlive_run(reference, given.limit).returncode == 0, "the run without a fault failed")
        for name in given.case or cases:
            began = time.monotonic()
            scratch = Path(folder) / name.replace(" ", "-")
            scratch.mkdir()
            try:
                seen = cases[name](reference, scratch, given.limit)
            except (FaultError, subprocess.SubprocessError) as error:
                failed += 1
                seen = f"FAULT: {error}"
            print(f"{name}: {seen} ({time.monotonic() - began:.0f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
