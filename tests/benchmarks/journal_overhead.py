"""What the journal costs a run: `python tests/benchmarks/journal_overhead.py RUN`.

Replays the journal of a finished run into a new one on the same disk, in the groups in which it was written (answers of
one step of the engine follow each other within a millisecond), and compares the time with that of the run itself.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path

from tliveomni_eval.model_adapters.vllm_backend.engine_loop import Response
from tliveomni_eval.model_adapters.vllm_backend.response_journal import JOURNAL_NAME, ResponseJournal

SAME_STEP_S = 0.002


def main() -> None:
    """Print the cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    folder = parser.parse_args().run
    with closing(sqlite3.connect(folder / JOURNAL_NAME)) as database:
        rows = database.execute("SELECT * FROM responses ORDER BY written_at").fetchall()
    times = [row[-1] for row in rows]
    starts = [0, *(place for place, (one, next_) in enumerate(pairwise(times), 1) if next_ - one > SAME_STEP_S)]
    groups = [rows[start:end] for start, end in pairwise([*starts, len(rows)])]
    with tempfile.TemporaryDirectory(dir=folder) as scratch, ResponseJournal(Path(scratch) / JOURNAL_NAME) as journal:
        began, computing = time.perf_counter(), time.process_time()
        for group in groups:
            with journal.together():
                for key, task, document, text, given, generated, reason, _ in group:
                    journal.find(key)
                    journal.write(key, task, document, Response(text, given, generated, reason))
        took, computed = time.perf_counter() - began, time.process_time() - computing
    answering = times[-1] - times[0]
    print(
        f"{len(rows)} answers in {len(groups)} steps: {took:.2f} s ({computed:.2f} s computing, the rest waiting "
        f"for the disk), {took / answering:.1%} of the {answering:.0f} s in which they were answered"
    )


if __name__ == "__main__":
    main()
