"""Imports made once for several evaluation processes: on a CPU they take longer than anything else before the answers.

A server process (the standard library's fork server) imports what every evaluation needs and does nothing else; each
evaluation is a fresh fork of it. No engine, model or thread exists in the server, so no run can see another. On a GPU
evaluations are started anew instead: CUDA does not survive a fork.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from tliveomni_eval.model_adapters.run.fast_start import evaluation_environment, import_lazily

IMPORTS_IN_SERVER = "TLIVE_IMPORTS_IN_SERVER"


class ForkedEvaluation:
    """An evaluation in a fork of the server; used like `subprocess.Popen`.

    Args:
        server: Where it forks from.
        specification: Path of its specification.
        log: File that gets its standard output and error.
        events: Write end of its event pipe; stays open here.
    """

    def __init__(self, server: WarmServer, specification: Path, log: Path, events: Connection) -> None:
        self._process: Any = server.context.Process(target=_evaluate, args=(str(specification), str(log), events))
        with server.environment():
            self._process.start()

    def poll(self) -> int | None:
        """Exit status, or None while it runs."""
        status: int | None = self._process.exitcode
        return status

    def wait(self, timeout: float | None = None) -> int:
        """Exit status, once it has ended.

        Raises:
            TimeoutExpired: It still runs after `timeout` seconds.
        """
        self._process.join(timeout)
        status = self.poll()
        if status is None:
            raise TimeoutExpired("evaluation", timeout or 0)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal."""
        if self.poll() is None:
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    @property
    def pid(self) -> int | None:
        """Number of the process, which leads a group of its own."""
        number: int | None = self._process.pid
        return number


class WarmServer:
    """Starts the server with its first evaluation; it ends with this process."""

    def __init__(self) -> None:
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload([__name__])

    @contextmanager
    def environment(self) -> Iterator[None]:
        """The environment that the server, and with it every evaluation, starts in."""
        earlier = dict(os.environ)
        os.environ.update(evaluation_environment(earlier) | {IMPORTS_IN_SERVER: "1"})
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(earlier)


def _import_what_evaluations_need() -> None:
    from tliveomni_eval.model_adapters.vllm_backend.engine_settings import prepare_environment

    chosen = prepare_environment("cpu")
    try:
        import_lazily("evaluate")
        import vllm.entrypoints.llm
        import vllm.model_executor.models.qwen3_vl
        import vllm.v1.worker.cpu_worker  # noqa: F401
    except Exception:
        # An evaluation that needs what failed imports it again and says in its own log what is wrong.
        return
    finally:
        for name in chosen:
            del os.environ[name]


@contextmanager
def _silence() -> Iterator[None]:
    kept = [os.dup(standard) for standard in (1, 2)]
    with open(os.devnull, "w") as nowhere:
        for standard in (1, 2):
            os.dup2(nowhere.fileno(), standard)
    try:
        yield
    finally:
        for standard, descriptor in zip((1, 2), kept, strict=True):
            os.dup2(descriptor, standard)
            os.close(descriptor)


def _evaluate(specification: str, log: str, events: Connection) -> None:
    os.setpgid(0, 0)
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)
    from tliveomni_eval.model_adapters.run.evaluation_process import main

    os.environ.pop(IMPORTS_IN_SERVER, None)
    sys.exit(main([specification, str(os.dup(events.fileno()))]))


if os.environ.pop(IMPORTS_IN_SERVER, None):
    with _silence():
        _import_what_evaluations_need()
