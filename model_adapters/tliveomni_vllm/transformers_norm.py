"""RMSNorm with the additions and casts of transformers, in its order."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from vllm.model_executor.layers.layernorm import RMSNorm


class TransformersRMSNorm(nn.Module):  # type: ignore[misc]
    """RMSNorm as `Qwen3VLTextRMSNorm` computes it.

    The residual is added in the type of the activations, so the sum is rounded before it is normalised; vLLM's fused
    norm normalises the sum unrounded. Without a compiler the numbers are those of transformers bit by bit; inductor
    may keep the sum unrounded when it fuses.

    Args:
        norm: vLLM's norm, whose weight this takes over.
    """

    def __init__(self, norm: RMSNorm) -> None:
        super().__init__()
        self.weight = norm.weight
        self.variance_epsilon = norm.variance_epsilon

    def forward(self, x: Tensor, residual: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
        """Normalise, after adding the residual where there is one.

        Args:
            x: (…, hidden).
            residual: Of the same shape.

        Returns:
            What is normalised; with a residual also the sum, as vLLM's norm does.
        """
        if residual is None:
            return self._normalized(x)
        total = residual + x
        return self._normalized(total), total

    def _normalized(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * wide.to(x.dtype)


def use_transformers_norms(module: nn.Module) -> int:
    """Replace every RMSNorm in a module, the Q and K norms included; weights keep their names.

    Args:
        module: Changed in place, before its weights are loaded.

    Returns:
        How many were replaced.
    """
    found = [
        (parent, name, child)
        for parent in module.modules()
        for name, child in parent.named_children()
        if type(child) is RMSNorm
    ]
    for parent, name, norm in found:
        setattr(parent, name, TransformersRMSNorm(norm))
    return len(found)
