"""What an evaluation process tells the one that started it: JSON lines over a pipe."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated, Literal, TextIO

from pydantic import BaseModel, Field, TypeAdapter


class Loaded(BaseModel):
    """The backend is ready.

    Attributes:
        kernels: Linear kernels of quantized layers; empty for a 16-bit checkpoint.
        engine_started: False while the journal may hold every answer.
        seconds: Since the process began.
    """

    event: Literal["loaded"] = "loaded"
    engine_started: bool = True
    kernels: list[str]
    seconds: float


class Answered(BaseModel):
    """Some requests are complete."""

    event: Literal["answered"] = "answered"
    done: int
    total: int


class Scored(BaseModel):
    """The run is complete and its logs are written.

    Attributes:
        scores: Task to metric to value.
        from_journal: Answers that came from the journal.
        answered: Answers the engine gave.
        seconds: Time the engine took to answer.
        quarantined: Samples that were given up because the engine died of them.
        failed_canaries: Name and summary of each canary that failed.
    """

    event: Literal["scored"] = "scored"
    scores: dict[str, dict[str, float]]
    from_journal: int
    answered: int
    seconds: float
    quarantined: list[str] = []
    failed_canaries: list[str] = []


class Failed(BaseModel):
    """The run failed."""

    event: Literal["failed"] = "failed"
    message: str


class Restarted(BaseModel):
    """The engine died and a new process goes on; sent by nobody, made by who follows the run."""

    event: Literal["restarted"] = "restarted"
    reason: str


Event = Loaded | Answered | Scored | Failed | Restarted
_EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="event")])


class EventWriter:
    """Writes events to a file descriptor; with none, or once nobody listens, writes nothing.

    Args:
        descriptor: Write end of a pipe, or None.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._stream: TextIO | None = None if descriptor is None else os.fdopen(descriptor, "w", buffering=1)

    def send(self, event: Event) -> None:
        """Tell the parent process."""
        if self._stream is None:
            return
        try:
            self._stream.write(event.model_dump_json() + "\n")
        except BrokenPipeError:
            self._stream = None


def read_events(descriptor: int) -> Iterator[Event]:
    """Yield events until the writing process closes its end.

    Args:
        descriptor: Read end of a pipe; closed at the end.
    """
    with os.fdopen(descriptor, encoding="utf-8") as stream:
        for line in stream:
            yield _EVENT.validate_json(line)
