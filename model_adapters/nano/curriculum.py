"""What changes over a run: difficulty, learning rate, and which tasks are trained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Schedule:
    """Values over progress, the share (0..1) of the whole training that is done.

    Attributes:
        peak_rate: Highest learning rate.
        final_rate_share: Learning rate at the end as a share of the peak.
        warmup_steps: Optimizer steps of linear warm-up, also after a resume, since the optimizer starts anew.
        full_difficulty_at: Progress at which samples reach full difficulty.
        glyphs_until: Progress from which the auxiliary glyph task runs in one step of `glyphs_every_after`.
        glyphs_every_after: See `glyphs_until`.
    """

    peak_rate: float
    final_rate_share: float = 0.01
    warmup_steps: int = 200
    full_difficulty_at: float = 0.3
    glyphs_until: float = 0.5
    glyphs_every_after: int = 4

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Schedule:
        """Builds the schedule from a run configuration's `schedule` section.

        Raises:
            ValueError: If a key is unknown.
        """
        if unknown := sorted(set(values) - set(cls.__dataclass_fields__)):
            raise ValueError(f"unknown schedule key {unknown[0]!r}; known: {', '.join(cls.__dataclass_fields__)}")
        return cls(**values)

    def difficulty(self, progress: float) -> float:
        """Share of samples of full difficulty, 0..1."""
        return min(1.0, progress / self.full_difficulty_at) if self.full_difficulty_at > 0 else 1.0

    def learning_rate(self, progress: float, steps_since_start: int) -> float:
        """Cosine over progress, times the warm-up since this process started."""
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
        warmup = min(1.0, (steps_since_start + 1) / self.warmup_steps) if self.warmup_steps else 1.0
        return self.peak_rate * warmup * (self.final_rate_share + (1 - self.final_rate_share) * cosine)

    def trains_glyphs(self, progress: float, step: int) -> bool:
        """Whether a step includes the auxiliary glyph task."""
        return progress < self.glyphs_until or step % self.glyphs_every_after == 0


def draw_shape_classes(
    rng: np.random.Generator, samples_seen: Sequence[int], batch_sizes: Sequence[int], ready: Sequence[bool], count: int
) -> list[int]:
    """Chooses shape classes for a step so that samples are trained on as often as the generator makes them.

    Args:
        rng: Source of randomness.
        samples_seen: Samples that each class has received.
        batch_sizes: Samples that one batch of the class trains on.
        ready: Whether the class has enough samples to draw from.
        count: Classes to draw, with replacement.

    Returns:
        Indices of classes; empty if none is ready.
    """
    shares = np.array(
        [seen / batch if ok else 0.0 for seen, batch, ok in zip(samples_seen, batch_sizes, ready, strict=True)]
    )
    if shares.sum() <= 0:
        return []
    return [int(index) for index in rng.choice(len(shares), size=count, p=shares / shares.sum())]
