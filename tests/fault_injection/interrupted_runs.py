"""Kill a real run at random moments: `python tests/fault_injection/interrupted_runs.py --kills 50`.

A run of the embedded checkpoint on vLLM is killed again and again: all its processes at once, the evaluation process
alone (`tlive run` must start another by itself), or `tlive run` by SIGTERM; after a random number of answers, or at a
random time, while the engine loads too. Then it runs to its end. No answer that the journal held at a kill may be
missing or have been given again (its row would have a new time), and the logs must be those of a run in peace.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

TLIVE = Path(sys.executable).parent / "tlive"
EVALUATION = "tliveomni_eval.model_adapters.run.evaluation_process"
FORK_SERVER = "multiprocessing.forkserver"
KINDS = ("all processes", "evaluation process", "SIGTERM")
TIMES = {"date", "start_time", "end_time", "total_evaluation_time_seconds"}
"""What lmms-eval's results say of when they were made."""

CHECKOUT = {"git_hash", "lmms_eval_version"}
"""What they say of the state of the checkout, which somebody may commit to while this runs."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")

_POLL_S = 0.01
_LONGEST_WAIT_S = 300.0

Rows = dict[str, tuple[str, float]]
"""Key of a response, which no two variants share, to its text and the time it was written."""


class FaultError(AssertionError):
    """Something was lost, repeated or changed."""


class CompleteError(Exception):
    """The run was complete before it could be killed."""


@dataclass(slots=True)
class Tally:
    """What was done to a run.

    Attributes:
        kills: How often each kind of kill was done.
        answers_at_kill: Answers in the journal at each kill.
        answers: Answers in the end.
    """

    kills: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    answers_at_kill: list[int] = field(default_factory=list)
    answers: int = 0


def _journal(folder: Path, query: str) -> list[Any]:
    path = folder / "journal.sqlite"
    if not path.exists():
        return []
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as database:
            return database.execute(query).fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return []
        raise


def journal_rows(folder: Path) -> Rows:
    """What a journal holds now; nothing where there is none yet."""
    rows = _journal(folder, "SELECT key, text, written_at FROM responses")
    return {key: (text, written_at) for key, text, written_at in rows}


def answer_count(folder: Path) -> int:
    """How many responses a journal holds now."""
    return sum(count for (count,) in _journal(folder, "SELECT count(*) FROM responses"))


def check_kept(before: Rows, now: Rows) -> None:
    """Raise `FaultError` where a response is missing or was written again."""
    if lost := before.keys() - now.keys():
        raise FaultError(f"{len(lost)} completed responses are lost, first {min(lost)}")
    if repeated := [key for key, row in before.items() if now[key] != row]:
        raise FaultError(f"{len(repeated)} completed responses were given again, first {min(repeated)}")


def logs_of(folder: Path) -> dict[str, Any]:
    """The logs of a run without their times: name without date to content."""
    found: dict[str, Any] = {}
    for path in sorted((folder / "lmms_eval").rglob("*.json*")):
        text = path.read_text(encoding="utf-8")
        name = path.name.split("_", 2)[2]
        found[name] = (
            text.splitlines() if path.suffix == ".jsonl" else _without_times(json.loads(_ADDRESS.sub("", text)))
        )
    return found


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key not in TIMES | CHECKOUT}
    return value


def check_equal_logs(reference: Path, folder: Path) -> None:
    """Raise `FaultError` where the logs of two runs differ."""
    expected, found = logs_of(reference), logs_of(folder)
    if not expected or expected.keys() != found.keys():
        raise FaultError(f"logs are {sorted(found)} and should be {sorted(expected)}")
    for name, content in expected.items():
        if found[name] == content:
            continue
        if isinstance(content, list):
            differing = [pair for pair in zip(content, found[name], strict=False) if pair[0] != pair[1]]
            raise FaultError(
                f"{name}: {len(differing)} of {len(content)} lines differ "
                f"({len(found[name])} lines), first:\n{differing[:1]}"
            )
        keys = [key for key in content if content[key] != found[name].get(key)]
        raise FaultError(f"{name}: {keys} differ: {[(content[key], found[name].get(key)) for key in keys]}"[:2000])


class KilledRun:
    """Runs of some variants that are started, killed and started again.

    Args:
        out: The folder for `--out`.
        variants: Their names. Several are forks of one process, which start faster.
        words: Further options of `tlive run`.
        chance: Where moments and kinds come from.
        step: Most answers between two kills.
    """

    def __init__(self, out: Path, variants: list[str], words: list[str], chance: random.Random, step: int) -> None:
        self.folders = [out / variant for variant in variants]
        out.mkdir(parents=True)
        self._command = [str(TLIVE), "run", "--variants", ",".join(variants), "--no-store", "--out", str(out), *words]
        self._log = out.with_suffix(".log")
        self._chance = chance
        self._step = step
        self._process: psutil.Popen | None = None
        self._evaluation_was_killed = False

    def start(self) -> psutil.Popen:
        """The running command; a new one where none runs."""
        if self._process is None or self._process.poll() is not None:
            with self._log.open("ab") as log:
                self._process = psutil.Popen(
                    self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
        return self._process

    def kill(self, kind: str) -> Rows:
        """Wait for a random moment, kill, and return what the journal holds then.

        Raises:
            CompleteError: The run was complete before.
            FaultError: The run ended by itself with an error.
        """
        process = self._wait_for_a_moment(self.start())
        members = [process, *process.children(recursive=True)]
        evaluations = [member for member in members if _is_evaluation(member)]
        self._chance.shuffle(evaluations)
        self._evaluation_was_killed = False
        if kind == "SIGTERM":
            process.send_signal(signal.SIGTERM)
            process.wait(_LONGEST_WAIT_S)
        elif kind == "evaluation process" and evaluations:
            _end(evaluations[:1])
            self._evaluation_was_killed = True
        else:
            _end(members)
        return self.rows()

    def rows(self) -> Rows:
        """What the journals hold now."""
        return {key: row for folder in self.folders for key, row in journal_rows(folder).items()}

    def _answers(self) -> int:
        return sum(answer_count(folder) for folder in self.folders)

    def _wait_for_a_moment(self, process: psutil.Popen) -> psutil.Popen:
        wanted = self._answers() + self._chance.randint(1, self._step)
        # One in five falls at any time, so that loading, rendering and the end are met too.
        until = time.monotonic() + (self._chance.uniform(0, 12) if self._chance.random() < 0.2 else _LONGEST_WAIT_S)
        while time.monotonic() < until and self._answers() < wanted:
            if process.poll() is not None:
                process = self._started_again(process.poll())
            time.sleep(_POLL_S)
        return self.start()

    def _started_again(self, status: int) -> psutil.Popen:
        """`tlive run` gives up where the evaluation was killed before it asked anything; then another is started."""
        if status == 0:
            raise CompleteError
        if not self._evaluation_was_killed:
            raise FaultError(f"tlive run ended by itself with status {status}; see {self._log}")
        self._evaluation_was_killed = False
        return self.start()

    def finish(self) -> None:
        """Run to the end.

        Raises:
            FaultError: It failed.
        """
        status = self.start().wait()
        if status != 0 and self._evaluation_was_killed:
            # It was killed before it asked anything.
            status = self.start().wait()
        if status != 0:
            raise FaultError(f"tlive run ended with status {status}; see {self._log}")


def _is_evaluation(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        parent = process.parent()
        is_fork = parent is not None and any(FORK_SERVER in word for word in parent.cmdline())
        return is_fork or EVALUATION in process.cmdline()
    return False


def _end(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=60)


def run_under_kills(
    scratch: Path, variants: list[str], kinds: list[str], limit: int, seed: int, words: list[str]
) -> Tally:
    """Run once in peace and once under kills, and compare.

    Args:
        scratch: An empty folder.
        variants: What to run, side by side.
        kinds: Of the kills, in their order.
        limit: Samples.
        seed: Of moments.
        words: Further options of `tlive run`.

    Raises:
        FaultError: Something was lost, repeated or changed.
    """
    tally = Tally()
    options = ["--tasks", "live_ocr", "--limit", str(limit), *words]
    chance = random.Random(seed)
    reference = KilledRun(scratch / "reference", variants, options, chance, 1)
    reference.finish()
    killed = KilledRun(scratch / "killed", variants, options, chance, max(1, limit * len(variants) // (len(kinds) + 1)))
    kept: Rows = {}
    for number, kind in enumerate(kinds, 1):
        try:
            rows = killed.kill(kind)
        except CompleteError:
            print(f"complete before kill {number}: take more samples", flush=True)
            break
        check_kept(kept, rows)
        kept = rows
        tally.kills[kind] += 1
        tally.answers_at_kill.append(len(rows))
        print(f"kill {number} of {len(kinds)}: {kind}, {len(rows)} answers", flush=True)
    killed.finish()
    rows = killed.rows()
    check_kept(kept, rows)
    tally.answers = len(rows)
    if rows.keys() != reference.rows().keys():
        raise FaultError(f"{tally.answers} answers; {len(reference.rows())} in the run in peace")
    for right, found in zip(reference.folders, killed.folders, strict=True):
        check_equal_logs(right, found)
    return tally


def main() -> int:
    """Run the suite; 1 where anything was lost, repeated or changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--limit", type=int, default=400, help="Samples of live_ocr.")
    parser.add_argument("--variants", default="bf16,w8a8", help="Comma-separated.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scratch", type=Path, help="Folder for the runs; a temporary one by default.")
    given = parser.parse_args()
    scratch = given.scratch or Path(tempfile.mkdtemp(prefix="tlive-kills-"))
    chance = random.Random(given.seed)
    kinds = chance.choices(KINDS, weights=[1, 4, 1], k=given.kills)
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    began = time.monotonic()
    try:
        tally = run_under_kills(scratch, given.variants.split(","), kinds, given.limit, given.seed, [])
    except FaultError as error:
        print(f"FAULT: {error}", file=sys.stderr)
        return 1
    if sum(tally.kills.values()) < given.kills:
        return 1
    done = ", ".join(f"{count} of {kind}" for kind, count in tally.kills.items())
    print(
        f"{given.kills} kills ({done}), {tally.answers} answers, 0 lost, 0 repeated, logs equal; "
        f"{time.monotonic() - began:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
