"""Which requests were in the engine when it died: asked again alone, and given up where it dies of them again.

A process that is killed can note nothing, so what enters the engine is noted before and struck out after. The notes
need no `fsync`: they are to survive the process, and a power cut is no sample's fault. Only a death that `tlive run`
saw, and answered with a new process, counts: a run that was killed as a whole blames no sample.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import EngineDiedError

IN_FLIGHT_NAME = ".in_flight"
DEATHS_NAME = "engine_deaths.json"
MOST_DEATHS = 2
"""Deaths of the engine with a request in it, the second time alone, after which it is given up."""


class SuspectRequest(BaseModel):
    """A request that was in the engine when it died.

    Attributes:
        task: Its task.
        document: Its number in the task.
        deaths: How often.
        reason: How the engine died the last time.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    document: int
    deaths: int
    reason: str

    @property
    def is_quarantined(self) -> bool:
        """Whether it is not asked any more."""
        return self.deaths >= MOST_DEATHS


_SUSPECTS = TypeAdapter(dict[str, SuspectRequest])


class EngineDeaths:
    """The notes of one run.

    Args:
        folder: The run folder.
        reason: How the engine died, where this process follows one whose engine did; empty where it does not.
    """

    def __init__(self, folder: Path, reason: str = "") -> None:
        self._in_flight_path = folder / IN_FLIGHT_NAME
        path = folder / DEATHS_NAME
        self._suspects = _read_suspects(path)
        if reason:
            for key, (task, document) in open_requests(folder).items():
                earlier = self._suspects.get(key)
                deaths = 1 + (earlier.deaths if earlier else 0)
                self._suspects[key] = SuspectRequest(task=task, document=document, deaths=deaths, reason=reason)
            unfinished = path.with_name(f".{DEATHS_NAME}")
            unfinished.write_bytes(_SUSPECTS.dump_json(self._suspects, indent=2))
            unfinished.replace(path)
        self._descriptor = os.open(self._in_flight_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)

    def find(self, key: str) -> SuspectRequest | None:
        """What is known of a request; None for one that was never in a dying engine."""
        return self._suspects.get(key)

    def entered(self, key: str, task: str, document: int) -> None:
        """Note that a request enters the engine."""
        os.write(self._descriptor, json.dumps(["+", key, task, document]).encode() + b"\n")

    def left(self, key: str) -> None:
        """Note that it left the engine."""
        os.write(self._descriptor, json.dumps(["-", key]).encode() + b"\n")

    def close(self) -> None:
        """End the notes of a process that ends as it should, or by a fault that is no engine's."""
        os.close(self._descriptor)
        self._in_flight_path.unlink(missing_ok=True)


@contextmanager
def noted_deaths(folder: Path, reason: str) -> Iterator[EngineDeaths]:
    """Keep the notes of a run while it goes on; what is in a dying engine stays noted.

    Args:
        folder: The run folder.
        reason: See `EngineDeaths`.
    """
    notes = EngineDeaths(folder, reason)
    try:
        yield notes
    except EngineDiedError:
        raise
    except BaseException:
        notes.close()
        raise
    notes.close()


def open_requests(folder: Path) -> dict[str, tuple[str, int]]:
    """Requests that entered the engine of the last process in a run folder and did not leave it.

    Args:
        folder: The run folder.

    Returns:
        Key to task and document; empty where that process ended as it should.
    """
    found: dict[str, tuple[str, int]] = {}
    for note in _notes(folder / IN_FLIGHT_NAME):
        match note:
            case ["+", str(key), str(task), int(document)]:
                found[key] = (task, document)
            case ["-", str(key)]:
                found.pop(key, None)
    return found


def _notes(path: Path) -> Iterator[object]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            # The last note of a killed process may be half a line.
            continue


def _read_suspects(path: Path) -> dict[str, SuspectRequest]:
    try:
        return _SUSPECTS.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return {}
