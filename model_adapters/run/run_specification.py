"""What one evaluation process is asked to do; `tlive run` writes it, the process reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

DEFAULT_HANG_TIMEOUT_S = 600.0
"""The first step of a large model may compile for minutes; a step of a running one takes no second."""


class RunSpecification(BaseModel):
    """One run: one backend over some tasks into one folder.

    Attributes:
        run_folder: Where logs, journal and `run.json` go.
        name: Name of the run.
        variant: Precision by name; may be empty with a `model`.
        model: Checkpoint folder or hub name; empty for the embedded one.
        backend: Which of our models for lmms-eval answers, by name.
        model_args: Further `--model_args` of the backend.
        tasks: Names of tasks and groups.
        only_our_tasks: All tasks are ours, so that lmms-eval's own need not be read.
        limit: First samples of each task only; None for all.
        command: The command line as typed.
        cores: Cores of this machine it may use, where several runs share them; empty for all.
        canaries: Whether the run is checked by canaries.
        hang_timeout_s: Seconds without a token after which the engine counts as hung.
        after_engine_death: How the engine of the process before died, where this one follows it; else empty.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    run_folder: Path
    name: str
    variant: str
    model: str = ""
    backend: Literal["tliveomni_vllm", "tliveomni_hf"] = "tliveomni_vllm"
    model_args: dict[str, Any] = {}
    tasks: list[str]
    only_our_tasks: bool
    limit: int | None = None
    command: list[str] = []
    cores: list[int] = []
    canaries: bool = True
    hang_timeout_s: float = DEFAULT_HANG_TIMEOUT_S
    after_engine_death: str = ""
