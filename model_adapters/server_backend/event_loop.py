"""Running coroutines from code that is not asynchronous, also where the caller's thread already has a running loop.

A notebook, or a program that drives a browser, runs an event loop in the thread from which it evaluates; `asyncio.run`
refuses there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

Result = TypeVar("Result")


class EventLoop:
    """A loop of its own that lives as long as the connections made in it.

    A context manager: leaving it cancels what still runs and closes the loop.
    """

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Wait for a coroutine: in this thread, where an interrupt ends it, or in another if a loop runs here."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._runner.run(coroutine)
        with ThreadPoolExecutor(1) as other:
            return other.submit(self._runner.run, coroutine).result()

    def close(self) -> None:
        """Cancel what still runs and close the loop."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._runner.close()
            return
        with ThreadPoolExecutor(1) as other:
            other.submit(self._runner.close).result()

    def __enter__(self) -> EventLoop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def run_to_end(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run one coroutine in a loop of its own, as `asyncio.run`, whether or not a loop runs in this thread."""
    with EventLoop() as loop:
        return loop.run(coroutine)
