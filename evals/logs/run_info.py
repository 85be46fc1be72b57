"""`run.json`: everything that determined a run, so that two runs can be compared or refused.

`tlive run` writes the file through `RunInfo`, once at the start (without `end` and `exit_status`) and once at the end,
so an interrupted run is recognisable: its `exit_status` is missing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator
from tliveomni_eval.evals.canaries.canary_result import CanaryResult
from tliveomni_eval.evals.logs.json_model import read_json_model

RUN_INFO_NAME = "run.json"
SCHEMA_VERSION = 1


class Checkpoint(BaseModel):
    """The weights and everything beside them that changes an output.

    Attributes:
        path: The folder or hub name that was loaded, as the user gave it.
        files: File name (relative to `path`) to its sha256 in hexadecimal: config, tokenizer, processor and weights.
        fingerprint: One sha256 over `files`; see `fingerprint_checkpoint`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    files: dict[str, str] = Field(default_factory=dict)
    fingerprint: str


class QuarantinedSample(BaseModel):
    """A sample that was given up because the engine died of it.

    Attributes:
        task: Its task.
        document: Its number in the task.
        reason: How the engine died.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    document: int
    reason: str


class RunInfo(BaseModel):
    """The content of `run.json`.

    Attributes:
        schema_version: Version of this layout.
        name: Name of the run, usually that of its folder.
        variant: Precision of the backend (`bf16`, `w8a8`, …); None where it has no name.
        model: Name of the lmms-eval model class, e.g. `tliveomni_vllm`.
        checkpoint: What was loaded.
        engine_args: Resolved arguments of the engine.
        decoding: Sampling parameters that hold for the run (temperature, top_p, seed, …). Must be equal to compare.
        kernels: Linear kernels the engine chose, with the scheme they serve; empty where it has none by name.
        ignored_media: Task name to the kinds of media that the checkpoint does not take, so that its prompts lack them.
        media: How media became part of the prompts: frames a second, limits of frames and pixels, whether the sound of
            videos was given. Empty where no task has media, or the run is older than this field.
        versions: Package name to version.
        hardware: Processor, accelerator, cores, memory.
        data: Task name to fingerprint of its samples. Must be equal to compare.
        prompts: Task name to hash of its rendered prompts. Must be equal to compare.
        parsers: Parser name to version. Must be equal to compare.
        normalisers: Normaliser name to version. Must be equal to compare.
        judge: Whatever determines a model that scored outputs; empty where none did. Must be equal to compare.
        input_processing: Chat template, tokenizer and media processors, each to the SHA-256 of what it does. Must be
            equal to compare, where both runs have it.
        canaries: What the canaries found; empty where none ran.
        canaries_off: Whether they were turned off.
        quarantined: Samples that were given up; they count as errors.
        limit: Number of samples asked for a task; None for all.
        tasks: Names of the tasks that were asked for.
        command: The command line as typed.
        start: When the run began, with its time zone.
        end: When it ended; None while it runs or after it was killed.
        exit_status: 0 where every task finished; None while it runs or after it was killed.
        error: What went wrong, in one line, where `exit_status` is not 0.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = 1
    name: str
    variant: str | None = None
    model: str
    checkpoint: Checkpoint
    engine_args: dict[str, Any] = Field(default_factory=dict)
    decoding: dict[str, Any] = Field(default_factory=dict)
    kernels: list[str] = Field(default_factory=list)
    ignored_media: dict[str, list[str]] = Field(default_factory=dict)
    media: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    hardware: dict[str, Any] = Field(default_factory=dict)
    data: dict[str, str] = Field(default_factory=dict)
    prompts: dict[str, str] = Field(default_factory=dict)
    parsers: dict[str, str] = Field(default_factory=dict)
    normalisers: dict[str, str] = Field(default_factory=dict)
    judge: dict[str, Any] = Field(default_factory=dict)
    input_processing: dict[str, str] = Field(default_factory=dict)
    canaries: list[CanaryResult] = Field(default_factory=list)
    canaries_off: bool = False
    quarantined: list[QuarantinedSample] = Field(default_factory=list)
    limit: int | float | None = None
    tasks: list[str] = Field(default_factory=list)
    command: list[str] = Field(default_factory=list)
    start: AwareDatetime
    end: AwareDatetime | None = None
    exit_status: int | None = None
    error: str | None = None

    @model_validator(mode="after")
    def _ends_after_it_started(self) -> Self:
        if self.end is not None and self.end < self.start:
            raise ValueError(f"end ({self.end.isoformat()}) is before start ({self.start.isoformat()})")
        return self

    @property
    def duration_s(self) -> float | None:
        """Seconds from start to end; None while the run has no end."""
        return (self.end - self.start).total_seconds() if self.end is not None else None

    def write(self, run_folder: Path) -> Path:
        """Writes `run.json` into `run_folder` in one step, so that no reader ever sees half of it.

        Returns:
            The path of the file.

        Raises:
            OSError: If the folder cannot be written (disk full, no permission).
        """
        path = run_folder / RUN_INFO_NAME
        unfinished = path.with_name(f".{RUN_INFO_NAME}.{os.getpid()}")
        try:
            with unfinished.open("w", encoding="utf-8") as file:
                file.write(self.model_dump_json(indent=2) + "\n")
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
        return path


def read_run_info(path: Path) -> RunInfo:
    """Reads a `run.json`.

    Args:
        path: The file itself.

    Raises:
        LogError: If the file is unreadable, is not JSON, has an unknown field or another schema version; the message
            names the file and the field.
    """
    return read_json_model(path, RunInfo)
