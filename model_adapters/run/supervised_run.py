"""One run over as many processes as it takes: a new one follows where the engine of the last one died."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

from tliveomni_eval.model_adapters.run.blame_row import BlameRow
from tliveomni_eval.model_adapters.run.child_process import INTERRUPTED_STATUS, FreshProcessRun, RunOutcome
from tliveomni_eval.model_adapters.run.oom_kills import oom_kills
from tliveomni_eval.model_adapters.run.run_events import Event, Restarted
from tliveomni_eval.model_adapters.run.run_specification import RunSpecification
from tliveomni_eval.model_adapters.run.warm_start import WarmServer
from tliveomni_eval.model_adapters.vllm_backend.engine_deaths import open_requests

ENGINE_DIED_STATUS = 86
"""Exit status of an evaluation process whose engine failed."""

MOST_RESTARTS = 20
MOST_DEATHS_IN_A_ROW = 6
"""Deaths without a single answer between them, after which it is the engine that is at fault and no sample."""


class SupervisedRun:
    """A run, followed over the deaths of its engine.

    A process whose engine died with requests in it is replaced by a new one, which asks those again alone and gives up
    the one that it dies of again. A process that died before it asked anything is not replaced: it would die again. A
    process that was killed while memory was not short blames no request: somebody killed it.

    Args:
        specification: What to run; its folder exists.
        warm_server: Where to fork from; without it new interpreters start.
    """

    def __init__(self, specification: RunSpecification, warm_server: WarmServer | None = None) -> None:
        self._specification = specification
        self._warm_server = warm_server
        self._guard = threading.Lock()
        self._interrupted = False
        self._oom_kills = oom_kills()
        self._blame = BlameRow(specification.run_folder)
        self._run = FreshProcessRun(specification, warm_server)

    def follow(self, on_event: Callable[[Event], None]) -> RunOutcome:
        """Wait for the end, passing on each event as it arrives."""
        for _ in range(MOST_RESTARTS):
            outcome = self._run.follow(on_event)
            reason = self._engine_death(outcome)
            with self._guard:
                if not reason or self._interrupted:
                    return outcome
                if self._blame.deaths_in_a_row() >= MOST_DEATHS_IN_A_ROW:
                    self._blame.take_back()
                    outcome.message = (
                        f"its engine died {MOST_DEATHS_IN_A_ROW} times without an answer in between, so it is not the "
                        f"samples; the last time: {reason}. See {self._specification.run_folder / 'run.log'}"
                    )
                    return outcome
                self._run.end_group()
                on_event(Restarted(reason=reason))
                blamed = "" if self._was_killed(outcome) else reason
                follower = self._specification.model_copy(update={"after_engine_death": blamed})
                self._run = FreshProcessRun(follower, self._warm_server)
        outcome = self._run.follow(on_event)
        if reason := self._engine_death(outcome):
            outcome.message = f"its engine died {MOST_RESTARTS + 1} times, the last time: {reason}"
        return outcome

    def _engine_death(self, outcome: RunOutcome) -> str:
        """How the engine died; empty where it did not, or where a new process would fare no better."""
        if outcome.exit_status in (0, INTERRUPTED_STATUS) or not open_requests(self._specification.run_folder):
            return ""
        if outcome.exit_status == ENGINE_DIED_STATUS:
            return outcome.message
        if outcome.exit_status < 0:
            return f"its process was ended by signal {-outcome.exit_status}"
        if outcome.exit_status == 1 and not outcome.failed:
            return f"no token for {self._specification.hang_timeout_s:g} s; the stacks are in run.log"
        return ""

    def _was_killed(self, outcome: RunOutcome) -> bool:
        """Whether a process was killed from outside, and not because memory ran out."""
        earlier, self._oom_kills = self._oom_kills, oom_kills()
        return outcome.exit_status == -signal.SIGKILL and self._oom_kills == earlier

    def interrupt(self) -> None:
        """Ask the process to keep what it has and end; no other one follows."""
        with self._guard:
            self._interrupted = True
            self._run.interrupt()

    def end(self) -> None:
        """Wait for an interrupted process, and kill it where that takes too long."""
        self._run.end()
