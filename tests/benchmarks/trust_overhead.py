"""What journal and canaries cost a run: `python tests/benchmarks/trust_overhead.py`, on a quiet machine.

A real run of the embedded checkpoint is made, and of its time the canaries' part is read from its log. What the journal
costs is measured apart: as many responses as the run has are written one by one, each with its `fsync`, into a journal
in the same folder, which the run did while its engine computed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tliveomni_eval.evals.logs.run_info import read_run_info
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import Response
from tliveomni_eval.model_adapters.vllm_backend.response_journal import ResponseJournal, response_key

LIMIT = 0.03
_CANARIES = re.compile(r"canaries took ([0-9.]+) s")


def journal_seconds(folder: Path, responses: int) -> float:
    """Seconds to write so many responses into a new journal.

    Args:
        folder: Where to write it.
        responses: How many.
    """
    with ResponseJournal(folder / "overhead.sqlite") as journal:
        began = time.perf_counter()
        for number in range(responses):
            journal.write(response_key("w", {}, str(number), {}), "t", number, Response("¥129.00", 90, 9, "stop"))
        return time.perf_counter() - began


def main() -> int:
    """Measure; 1 where the share is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=1000, help="Samples of the run.")
    parser.add_argument("--tasks", default="live_ocr")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        words = ["run", "--tasks", given.tasks, "--limit", str(given.limit), "--out", scratch, "--no-store"]
        subprocess.run(
            [Path(sys.executable).parent / "tlive", *words], check=True, stdout=sys.stderr, env=os.environ, cwd=folder
        )
        info = read_run_info(folder / "bf16" / "run.json")
        found = _CANARIES.search((folder / "bf16" / "run.log").read_text(encoding="utf-8"))
        assert found is not None and info.duration_s is not None
        canaries, whole = float(found[1]), info.duration_s
        journal = journal_seconds(folder / "bf16", given.limit)
    share = (canaries + journal) / (whole - canaries)
    figures = {
        "samples": given.limit,
        "run_s": round(whole, 1),
        "canaries_s": canaries,
        "journal_s": round(journal, 2),
        "share": round(share, 4),
        "limit": LIMIT,
        "canaries": {result.name: result.status for result in info.canaries},
    }
    print(json.dumps(figures, indent=2))
    return 0 if share <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
