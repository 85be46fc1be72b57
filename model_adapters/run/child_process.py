"""One fresh process a run: started, listened to, interrupted with its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tliveomni_eval.model_adapters.run.fast_start import evaluation_environment
from tliveomni_eval.model_adapters.run.run_events import Answered, Failed, Loaded, Scored, read_events
from tliveomni_eval.model_adapters.run.run_specification import RunSpecification

LOG_NAME = "run.log"
SPECIFICATION_NAME = "specification.json"
GRACE_S = 60
_MODULE = "tliveomni_eval.model_adapters.run.evaluation_process"


@dataclass(slots=True)
class RunOutcome:
    """How a run ended.

    Attributes:
        exit_status: Of its process; 0 where every task finished.
        message: What went wrong; empty at 0.
        loaded: Its backend, where it got that far.
        scored: Its scores, at 0.
    """

    exit_status: int
    message: str = ""
    loaded: Loaded | None = None
    scored: Scored | None = field(default=None)


def run_in_fresh_process(
    specification: RunSpecification, on_event: Callable[[Loaded | Answered | Scored | Failed], None]
) -> RunOutcome:
    """Run a specification in a process of its own and wait for it.

    Args:
        specification: What to run; its folder exists.
        on_event: Called with each event as it arrives.

    Raises:
        KeyboardInterrupt: The user interrupted; the child has ended by then.
    """
    folder = specification.run_folder
    path = folder / SPECIFICATION_NAME
    path.write_text(specification.model_dump_json(indent=2), encoding="utf-8")
    read_end, write_end = os.pipe()
    with (folder / LOG_NAME).open("ab") as log:
        words = [sys.executable, "-m", _MODULE, str(path), str(write_end)]
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(write_end,),
            env=evaluation_environment(os.environ),
        )
    os.close(write_end)
    outcome = RunOutcome(exit_status=0)
    try:
        for event in read_events(read_end):
            if isinstance(event, Loaded):
                outcome.loaded = event
            elif isinstance(event, Scored):
                outcome.scored = event
            elif isinstance(event, Failed):
                outcome.message = event.message
            on_event(event)
        outcome.exit_status = child.wait()
    except BaseException:
        _end(child)
        raise
    log_path = folder / LOG_NAME
    if outcome.exit_status != 0 and not outcome.message:
        end = log_end(log_path)
        outcome.message = f"its process ended with status {outcome.exit_status}; the end of {log_path}:\n{end}"
    if outcome.exit_status == 0 and outcome.scored is None:
        outcome.exit_status, outcome.message = 1, f"its process ended without results; see {log_path}"
    return outcome


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a child that may have had the same interrupt already: ask, wait, then kill."""
    if child.poll() is not None:
        return
    child.send_signal(signal.SIGINT)
    try:
        child.wait(timeout=GRACE_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        child.kill()
        child.wait()


def log_end(path: Path, count: int = 8) -> str:
    """The end of a log, indented."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - 16_384))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-count:])
