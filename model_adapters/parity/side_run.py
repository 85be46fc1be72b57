"""One side in a fresh process, followed to its end: what it took of memory is given back before the next one starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Pipe
from pathlib import Path

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.parity.side_specification import (
    BACKEND_NAME,
    RECORDS_NAME,
    SideBackend,
    SideSpecification,
)
from tliveomni_eval.model_adapters.parity.token_scores import SideRecord, read_records
from tliveomni_eval.model_adapters.run.child_process import GRACE_S, INTERRUPTED_STATUS, LOG_NAME, log_end
from tliveomni_eval.model_adapters.run.fast_start import evaluation_environment
from tliveomni_eval.model_adapters.run.run_events import Event, Failed, read_events

_MODULE = "tliveomni_eval.model_adapters.parity.side_process"


@dataclass(frozen=True, slots=True)
class FinishedSide:
    """What a side left behind.

    Attributes:
        folder: Where its records and logs lie.
        backend: What it computed with.
        records: What it found, by task and document, in their order.
    """

    folder: Path
    backend: SideBackend
    records: dict[tuple[str, int], SideRecord]


def run_side(specification: SideSpecification, on_event: Callable[[Event], None]) -> FinishedSide:
    """Run a side in a process of its own and wait for it.

    Args:
        specification: What it is asked to do.
        on_event: Called with each event as it arrives.

    Raises:
        UserError: It failed.
        KeyboardInterrupt: It was interrupted, or this process was; it has ended by then.
    """
    run_process(_MODULE, specification.folder, specification.model_dump_json(), on_event)
    records = read_records(specification.folder / RECORDS_NAME)
    backend = SideBackend.model_validate_json((specification.folder / BACKEND_NAME).read_bytes())
    return FinishedSide(specification.folder, backend, {record.key: record for record in records})


def run_process(module: str, folder: Path, specification: str, on_event: Callable[[Event], None]) -> None:
    """Run a module of ours in a fresh interpreter, with its specification and a pipe for events, and wait for its end.

    Args:
        module: Its dotted name.
        folder: Where specification and log go.
        specification: As JSON.
        on_event: Called with each event as it arrives.

    Raises:
        UserError: It failed.
        KeyboardInterrupt: It was interrupted, or this process was; it has ended by then.
    """
    path, log_path = folder / "specification.json", folder / LOG_NAME
    path.write_text(specification, encoding="utf-8")
    read_end, write_end = Pipe(duplex=False)
    with write_end, log_path.open("ab") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", module, str(path), str(write_end.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(write_end.fileno(),),
            env=evaluation_environment(os.environ),
        )
    message = ""
    try:
        for event in read_events(os.dup(read_end.fileno())):
            if isinstance(event, Failed):
                message = event.message
            on_event(event)
        status = child.wait()
    except BaseException:
        _end(child)
        raise
    finally:
        read_end.close()
    if status in (INTERRUPTED_STATUS, -signal.SIGINT):
        raise KeyboardInterrupt
    if status != 0:
        raise UserError(message or f"its process ended with status {status}; the end of its log:\n{log_end(log_path)}")


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
    try:
        child.wait(timeout=GRACE_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        child.kill()
        child.wait()
