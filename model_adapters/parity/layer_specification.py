"""What a process of `tlive parity --layers` is asked to do: catch what modules give on a few samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

CAPTURE_NAME = "capture-{index}.safetensors"
ORDER_NAME = "order-{index}.json"
DIFFERENCES_NAME = "differences.jsonl"


class LayerSample(BaseModel):
    """One sample whose modules are looked at.

    Attributes:
        task: Its task.
        document: Its document number.
        name: Task and id, as the report names it.
        answer: Tokens that follow the prompt.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    document: int
    name: str
    answer: tuple[int, ...]


class LayerSpecification(BaseModel):
    """One side.

    Attributes:
        folder: Where it writes; exists.
        side: `reference` catches with transformers; `candidate` catches with vLLM and compares.
        model_args: `--model_args` of its backend.
        reference_folder: Where the reference wrote; None for the reference itself.
        only_our_tasks: All tasks are ours, so that lmms-eval's own need not be read.
        samples: What is looked at.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: Path
    side: Literal["reference", "candidate"]
    model_args: dict[str, Any]
    reference_folder: Path | None = None
    only_our_tasks: bool
    samples: tuple[LayerSample, ...]
