"""DeepStack levels added after the residual, as transformers adds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


def add_residual_before_deepstack(layers: Sequence[nn.Module], levels: int) -> None:
    """Let the layers that DeepStack levels follow hand on their whole output.

    A vLLM layer returns the output of its MLP and the residual apart; the next norm adds them. vLLM adds a level to the
    first of the two, so the sum is (mlp + level) + residual; transformers computes (residual + mlp) + level, which
    rounds differently. After this the layer returns residual + mlp and no residual, and the rest of vLLM's loop does
    what transformers does.

    Args:
        layers: The layers of this pipeline stage, the model's first one first.
        levels: How many of them, from the first on, a level follows.
    """
    for index, layer in enumerate(layers[:levels]):
        layer.register_forward_hook(_hand_on_sum_and_zeros if index == len(layers) - 1 else _hand_on_sum)


def _hand_on_sum(_layer: nn.Module, _arguments: Any, output: tuple[Tensor, Tensor]) -> tuple[Tensor, None]:
    hidden_states, residual = output
    return residual + hidden_states, None


def _hand_on_sum_and_zeros(_layer: nn.Module, _arguments: Any, output: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    # After the last layer vLLM needs a residual, for its last norm or the next pipeline stage. Adding zeros is exact.
    hidden_states, residual = output
    return residual + hidden_states, torch.zeros_like(residual)
