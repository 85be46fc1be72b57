"""Ends a process whose engine hangs, with the stacks of all its threads in the log."""

from __future__ import annotations

import faulthandler
import sys
import time
from types import TracebackType
from typing import Self

_LEAST_BETWEEN_BEATS_S = 1.0


class EngineWatchdog:
    """Waits for a sign of life; without one it writes all stacks to standard error and ends the process with status 1.

    The waiting is done by `faulthandler`, in a thread that needs no lock of the interpreter: an engine that hangs
    inside a kernel holds that lock.

    Args:
        timeout_s: Seconds without a step of the engine, above 0.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._last = float("-inf")

    def __enter__(self) -> Self:
        self.beat()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        faulthandler.cancel_dump_traceback_later()
        self._last = float("-inf")

    def beat(self) -> None:
        """The engine made a step. Winding up anew costs a thread, so steps within a second count as one."""
        now = time.monotonic()
        if now - self._last >= min(_LEAST_BETWEEN_BEATS_S, self._timeout_s / 4):
            self._last = now
            faulthandler.dump_traceback_later(self._timeout_s, exit=True, file=sys.stderr)
