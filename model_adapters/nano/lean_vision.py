"""Qwen3-VL's vision tower over a dictionary of weights, for images of one size. Equal to transformers' (tested)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as functional

from .architecture import MERGE_SIZE, PATCH_SIZE
from .lean_layers import Weights, layer_norm, linear, rotated
from .prompt_shape import PromptShape

_VISION = "model.visual."


def patches_of(images: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """(batch, height, width, 3) bytes to (batch, patches, 768) values in -1..1, in merge order, channels first."""
    batch, height, width, channels = images.shape
    rows, columns = height // (PATCH_SIZE * MERGE_SIZE), width // (PATCH_SIZE * MERGE_SIZE)
    values = (images.to(dtype) / 127.5) - 1.0
    blocks = values.reshape(batch, rows, MERGE_SIZE, PATCH_SIZE, columns, MERGE_SIZE, PATCH_SIZE, channels)
    return blocks.permute(0, 1, 4, 2, 5, 7, 3, 6).reshape(batch, -1, channels * PATCH_SIZE * PATCH_SIZE)


def _vision_block(weights: Weights, name: str, hidden: torch.Tensor, shape: PromptShape, heads: int) -> torch.Tensor:
    batch, patches, width = hidden.shape
    qkv = linear(weights, f"{name}.attn.qkv", layer_norm(weights, f"{name}.norm1", hidden))
    query, key, value = qkv.reshape(batch, patches, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind(0)
    cos, sin = shape.vision_cos.to(hidden.dtype), shape.vision_sin.to(hidden.dtype)
    mixed = functional.scaled_dot_product_attention(rotated(query, cos, sin), rotated(key, cos, sin), value)
    hidden = hidden + linear(weights, f"{name}.attn.proj", mixed.transpose(1, 2).reshape(batch, patches, width))
    inner = linear(weights, f"{name}.mlp.linear_fc1", layer_norm(weights, f"{name}.norm2", hidden))
    return hidden + linear(weights, f"{name}.mlp.linear_fc2", functional.gelu(inner, approximate="tanh"))


def _merged(weights: Weights, name: str, hidden: torch.Tensor, norm_after_shuffle: bool) -> torch.Tensor:
    batch, patches, width = hidden.shape
    shuffled = (batch, patches // MERGE_SIZE**2, width * MERGE_SIZE**2)
    if norm_after_shuffle:
        values = layer_norm(weights, f"{name}.norm", hidden.reshape(shuffled))
    else:
        values = layer_norm(weights, f"{name}.norm", hidden).reshape(shuffled)
    return linear(weights, f"{name}.linear_fc2", functional.gelu(linear(weights, f"{name}.linear_fc1", values)))


@dataclass(frozen=True)
class VisionOutput:
    """What the vision tower gives.

    Attributes:
        patches: (batch, patches, width) output of the last block.
        tokens: (batch, image tokens, hidden) inputs of the language model.
        deepstack: For each DeepStack level the same shape, added after that language layer.
    """

    patches: torch.Tensor
    tokens: torch.Tensor
    deepstack: tuple[torch.Tensor, ...]


def vision_forward(weights: Weights, config: Any, shape: PromptShape, images: torch.Tensor) -> VisionOutput:
    """The vision tower.

    Args:
        weights: Weights by name.
        config: With `vision_config`.
        shape: Constants of the image size.
        images: Bytes of images, (batch, height, width, 3), or of pairs of frames, (batch, 2, height, width, 3).
    """
    vision = config.vision_config
    kernel = weights[f"{_VISION}patch_embed.proj.weight"]
    bias = weights[f"{_VISION}patch_embed.proj.bias"]
    if images.dim() == 4:
        # A still image fills both frames of the temporal patch, so the two kernels add.
        hidden = functional.linear(patches_of(images, kernel.dtype), kernel.sum(dim=2).flatten(1), bias)
    else:
        first, second = (
            functional.linear(patches_of(images[:, frame], kernel.dtype), kernel[:, :, frame].flatten(1))
            for frame in (0, 1)
        )
        hidden = first + second + bias
    table = weights[f"{_VISION}pos_embed.weight"]
    position = (table[shape.position_index] * shape.position_weight[..., None].to(table.dtype)).sum(1)
    hidden = hidden + position
    levels = list(vision.deepstack_visual_indexes)
    deepstack: list[torch.Tensor] = []
    for layer in range(vision.depth):
        hidden = _vision_block(weights, f"{_VISION}blocks.{layer}", hidden, shape, vision.num_heads)
        if layer in levels:
            merger = f"{_VISION}deepstack_merger_list.{levels.index(layer)}"
            deepstack.append(_merged(weights, merger, hidden, norm_after_shuffle=True))
    tokens = _merged(weights, f"{_VISION}merger", hidden, norm_after_shuffle=False)
    return VisionOutput(patches=hidden, tokens=tokens, deepstack=tuple(deepstack))
