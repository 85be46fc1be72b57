"""What one side of the comparison is asked to do; `tlive parity` writes it, the side's process reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

RECORDS_NAME = "records.jsonl"
BACKEND_NAME = "backend.json"


class SideSpecification(BaseModel):
    """One side over some tasks.

    Attributes:
        folder: Where its records, its logs and what it says of its backend go; exists.
        side: `reference` answers and scores with transformers, `candidate` answers and scores with vLLM, and
            `candidate scores` only scores.
        model_args: `--model_args` of its backend.
        reference_records: What the reference found; None for the reference itself.
        tasks: Names of tasks and groups.
        only_our_tasks: All tasks are ours, so that lmms-eval's own need not be read.
        limit: First samples of each task only; None for all.
        max_new_tokens: Most tokens of an answer, where the task would allow more.
        top_k: Tokens of the top-k distribution.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: Path
    side: Literal["reference", "candidate", "candidate scores"]
    model_args: dict[str, Any]
    reference_records: Path | None = None
    tasks: list[str]
    only_our_tasks: bool
    limit: int | None
    max_new_tokens: int
    top_k: int


class SideBackend(BaseModel):
    """What a side computed with.

    Attributes:
        architecture: Model class of the checkpoint by name.
        fingerprint: SHA-256 over its files.
        device: `cpu` or `gpu`.
        dtype: Type it computed in.
        kernels: Linear kernels of quantized layers.
        tasks: Names of the single tasks that were evaluated, in their order.
        ids: Task to the id of each document by number.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    architecture: str
    fingerprint: str
    device: str
    dtype: str
    kernels: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    ids: dict[str, dict[int, str]] = {}
