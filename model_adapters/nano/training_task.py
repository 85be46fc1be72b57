"""The registry of what is trained: tasks, each with pools of samples and shape classes that become one graph each.

Stage two adds a task by adding an object that satisfies `TrainingTask` to the list that `train.py` builds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import torch

from .image_pool import PoolLayout, Sample

Loss = Callable[[Mapping[str, torch.Tensor], Mapping[str, torch.Tensor]], torch.Tensor]
"""(weights, batch) to a scalar loss; nothing in it may depend on values, so that it can be captured."""


@dataclass(frozen=True)
class ShapeClass:
    """Batches of one shape.

    Attributes:
        task: Name of the task.
        pool: Pool that batches are drawn from; also the name of the class.
        batch_size: Samples a batch.
        loss: The loss of a batch.
    """

    task: str
    pool: str
    batch_size: int
    loss: Loss


class TrainingTask(Protocol):
    """One thing that nano learns."""

    @property
    def name(self) -> str:
        """Name, unique in the run."""

    def layouts(self) -> Mapping[str, PoolLayout]:
        """The pools this task needs."""

    def sample(self, seed: int, difficulty: float) -> tuple[str, Sample] | None:
        """The sample of a seed and the pool it belongs to, or None if it fits none."""

    def shape_classes(self, device: torch.device) -> list[ShapeClass]:
        """The classes to capture."""

    def extra_weights(self) -> Mapping[str, torch.Tensor]:
        """Freshly initialised weights of training-only parts (auxiliary heads) by name."""
