"""A range that a whole weight matrix shares, in a format that has one scale an output channel."""

from __future__ import annotations

from typing import Any

from llmcompressor.observers import Observer
from llmcompressor.observers.min_max import MemorylessMinMaxObserver
from tliveomni_eval.model_adapters.quantization.modifiers import MATRIX_OBSERVER


@Observer.register(MATRIX_OBSERVER)
class MatrixMinMaxObserver(MemorylessMinMaxObserver):  # type: ignore[misc]
    """Gives every channel the smallest and largest weight of the matrix as its range.

    Packed 4-bit weights have one scale a channel or a group, both in compressed-tensors and in vLLM; with this observer
    the scales of a matrix are all equal, which is one scale a matrix.
    """

    def update_statistics_from_observed(self, observed: Any) -> None:
        """Takes the range of a weight.

        Args:
            observed: Tensor of shape (1, channels, 1, inputs), the last axis being what shares a scale.
        """
        channels = observed.shape[1:-1]
        self.min_vals: Any = observed.min().expand(channels).clone()
        self.max_vals: Any = observed.max().expand(channels).clone()
