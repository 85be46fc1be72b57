"""The few operations that nano's lean forward passes are made of, over a dictionary of weights."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as functional

Weights = Mapping[str, torch.Tensor]
"""Weight tensors by their name in the transformers model."""
NORM_EPS = 1e-6


def rotated(values: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Applies a rotary embedding to (batch, heads, tokens, head_dim)."""
    first, second = values.chunk(2, dim=-1)
    return values * cos + torch.cat([-second, first], dim=-1) * sin


def linear(weights: Weights, name: str, values: torch.Tensor) -> torch.Tensor:
    """The linear layer of a name, with its bias where it has one."""
    return functional.linear(values, weights[f"{name}.weight"], weights.get(f"{name}.bias"))


def layer_norm(weights: Weights, name: str, values: torch.Tensor, eps: float = NORM_EPS) -> torch.Tensor:
    """The layer norm of a name."""
    weight = weights[f"{name}.weight"]
    return functional.layer_norm(values, weight.shape, weight, weights[f"{name}.bias"], eps)


def rms_norm(weights: Weights, name: str, values: torch.Tensor) -> torch.Tensor:
    """The RMS norm of a name."""
    weight = weights[f"{name}.weight"]
    return functional.rms_norm(values, weight.shape, weight, NORM_EPS)
