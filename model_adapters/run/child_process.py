"""One fresh process a run: started, followed, interrupted with its parent; several may run side by side."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from pathlib import Path
from typing import Protocol

from tliveomni_eval.model_adapters.run.fast_start import evaluation_environment
from tliveomni_eval.model_adapters.run.run_events import Event, Failed, Loaded, Scored, read_events
from tliveomni_eval.model_adapters.run.run_specification import RunSpecification
from tliveomni_eval.model_adapters.run.warm_start import ForkedEvaluation, WarmServer

LOG_NAME = "run.log"
SPECIFICATION_NAME = "specification.json"
GRACE_S = 60
ASK_AGAIN_S = 10
INTERRUPTED_STATUS = 130
STACKS_SIGNAL = signal.SIGUSR2
"""Makes a process of vLLM write the stacks of its threads to its log; see `vllm_plugin`."""

TIME_FOR_STACKS_S = 1.0
_MODULE = "tliveomni_eval.model_adapters.run.evaluation_process"


@dataclass(slots=True)
class RunOutcome:
    """How a run ended.

    Attributes:
        exit_status: Of its process; 0 where every task finished.
        message: What went wrong; empty at 0.
        loaded: Its backend, where it got that far.
        scored: Its scores, at 0.
        failed: Whether the process itself said what went wrong.
    """

    exit_status: int
    message: str = ""
    loaded: Loaded | None = None
    scored: Scored | None = field(default=None)
    failed: bool = False


class EvaluationProcess(Protocol):
    """What `subprocess.Popen` and a fork of the warm server have in common."""

    def poll(self) -> int | None:
        """Exit status, or None while it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Exit status, once it has ended."""
        ...

    def send_signal(self, number: int, /) -> None:
        """Send a signal."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...

    @property
    def pid(self) -> int | None:
        """Number of the process, which leads a group of its own."""
        ...


class FreshProcessRun:
    """One evaluation in a process of its own, started here and followed to its end.

    Args:
        specification: What to run; its folder exists.
        warm_server: Where to fork from; without it a new interpreter starts.
    """

    def __init__(self, specification: RunSpecification, warm_server: WarmServer | None = None) -> None:
        folder = specification.run_folder
        self._log_path = folder / LOG_NAME
        path = folder / SPECIFICATION_NAME
        path.write_text(specification.model_dump_json(indent=2), encoding="utf-8")
        self._events, write_end = Pipe(duplex=False)
        with write_end:
            self._child: EvaluationProcess
            if warm_server is None:
                self._child = _new_interpreter(path, self._log_path, write_end.fileno())
            else:
                self._child = ForkedEvaluation(warm_server, path, self._log_path, write_end)

    def follow(self, on_event: Callable[[Event], None]) -> RunOutcome:
        """Wait for the end, passing on each event as it arrives."""
        outcome = RunOutcome(exit_status=0)
        for event in read_events(os.dup(self._events.fileno())):
            if isinstance(event, Loaded):
                outcome.loaded = event
            elif isinstance(event, Scored):
                outcome.scored = event
            elif isinstance(event, Failed):
                outcome.message, outcome.failed = event.message, True
            on_event(event)
        outcome.exit_status = self._child.wait()
        if outcome.exit_status == INTERRUPTED_STATUS and not outcome.message:
            outcome.message = "interrupted; completed responses are in its journal, run again to go on"
        if outcome.exit_status != 0 and not outcome.message:
            status, end = outcome.exit_status, log_end(self._log_path)
            outcome.message = f"its process ended with status {status}; the end of {self._log_path}:\n{end}"
        if outcome.exit_status == 0 and outcome.scored is None:
            outcome.exit_status = 1
            outcome.message = f"its process ended without results; see {self._log_path}"
        return outcome

    def interrupt(self) -> None:
        """Ask the process to keep what it has and end; it may have had the same interrupt already."""
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Wait for an interrupted process, and kill it where that takes too long."""
        try:
            for _ in range(GRACE_S // ASK_AGAIN_S):
                with suppress(subprocess.TimeoutExpired):
                    self._child.wait(timeout=ASK_AGAIN_S)
                    return
                # A process that had just been forked has not heard the first one.
                self.interrupt()
        except KeyboardInterrupt:
            pass
        self._child.kill()
        self._child.wait()

    def end_group(self) -> None:
        """Kill what a process that died left running, an engine's own processes, once they have logged their stacks."""
        pid = self._child.pid
        if pid is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, STACKS_SIGNAL)
            time.sleep(TIME_FOR_STACKS_S)
            os.killpg(pid, signal.SIGKILL)


def _new_interpreter(path: Path, log_path: Path, write_end: int) -> subprocess.Popen[bytes]:
    with log_path.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", _MODULE, str(path), str(write_end)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(write_end,),
            process_group=0,
            env=evaluation_environment(os.environ),
        )


def log_end(path: Path, count: int = 8) -> str:
    """The end of a log, indented."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - 16_384))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-count:])
