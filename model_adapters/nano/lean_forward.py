"""Qwen3-VL's forward pass over a dictionary of weights, for batches of one shape.

Every image of a batch has the same size and the text starts at the same place, so positions are constants, attention
needs no mask but the causal one, and nothing depends on values: the whole pass can be captured in a CUDA graph.
Weight names are transformers' own; the result equals `Qwen3VLForConditionalGeneration` to 1e-5 in float32 (tested).

Stage two adds its towers as further functions over the same dictionary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as functional

from .architecture import MERGE_SIZE, PATCH_SIZE

Weights = Mapping[str, torch.Tensor]
"""Weight tensors by their name in the transformers model."""

_VISION = "model.visual."
_TEXT = "model.language_model."
_NORM_EPS = 1e-6
_VISION_ROPE_THETA = 10_000.0


@dataclass(frozen=True)
class PromptShape:
    """Positions of a batch whose prompt is text, one image, text.

    Attributes:
        grid_height: Vision patches from top to bottom.
        grid_width: Vision patches from left to right.
        prefix_length: Tokens before the image's first token.
        tail_length: Tokens after the image's last token, padding included.
        image_tokens: Language tokens of the image.
        text_cos: (tokens, head_dim) cosines of the language model's rotary embedding; `text_sin` likewise.
        vision_cos: (patches, head_dim) cosines of the vision tower's; `vision_sin` likewise.
        position_index: (patches, 4) rows of the learned position table to blend for each patch.
        position_weight: (patches, 4) their shares.
    """

    grid_height: int
    grid_width: int
    prefix_length: int
    tail_length: int
    image_tokens: int
    text_cos: torch.Tensor
    text_sin: torch.Tensor
    vision_cos: torch.Tensor
    vision_sin: torch.Tensor
    position_index: torch.Tensor
    position_weight: torch.Tensor


def _in_merge_order(grid: torch.Tensor) -> torch.Tensor:
    """Flattens (height, width) to patches in the order in which the vision tower sees them: block by 2 × 2 block."""
    height, width = grid.shape
    blocks = grid.reshape(height // MERGE_SIZE, MERGE_SIZE, width // MERGE_SIZE, MERGE_SIZE)
    return blocks.permute(0, 2, 1, 3).reshape(-1)


def _vision_rope(rows: torch.Tensor, columns: torch.Tensor, head_dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    spatial = head_dim // 2
    inverse = 1.0 / (_VISION_ROPE_THETA ** (torch.arange(0, spatial, 2, dtype=torch.float) / spatial))
    angles = torch.cat([rows[:, None].float() * inverse, columns[:, None].float() * inverse], dim=-1)
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def _text_positions(shape: tuple[int, int], prefix_length: int, tail_length: int) -> torch.Tensor:
    """(3, tokens) time, height and width positions as Qwen3-VL's `get_rope_index` gives them."""
    height, width = shape[0] // MERGE_SIZE, shape[1] // MERGE_SIZE
    prefix = torch.arange(prefix_length).expand(3, -1)
    rows = torch.arange(height)[:, None].expand(height, width).reshape(-1) + prefix_length
    columns = torch.arange(width)[None, :].expand(height, width).reshape(-1) + prefix_length
    image = torch.stack([torch.full_like(rows, prefix_length), rows, columns])
    tail = torch.arange(tail_length).expand(3, -1) + prefix_length + max(height, width)
    return torch.cat([prefix, image, tail], dim=1)


def _text_rope(positions: torch.Tensor, config: Any) -> tuple[torch.Tensor, torch.Tensor]:
    head_dim = config.head_dim
    rope = config.rope_parameters
    inverse = 1.0 / (rope["rope_theta"] ** (torch.arange(0, head_dim, 2, dtype=torch.float) / head_dim))
    angles = positions[..., None].float() * inverse
    mixed = angles[0].clone()
    # Interleaved M-RoPE: frequencies go time, height, width, time, … as far as each section reaches.
    for axis in (1, 2):
        chosen = slice(axis, rope["mrope_section"][axis] * 3, 3)
        mixed[:, chosen] = angles[axis][:, chosen]
    mixed = torch.cat([mixed, mixed], dim=-1)
    return mixed.cos(), mixed.sin()


def _position_blend(grid_height: int, grid_width: int, side: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Bilinear resampling, corners aligned, of the square position table to a grid: row indices and shares."""

    def along(count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        place = torch.linspace(0, side - 1, count)
        low = place.long()
        return low, (low + 1).clamp(max=side - 1), place - low

    top, bottom, down = along(grid_height)
    left, right, across = along(grid_width)
    index = [row[:, None] * side + column[None, :] for row in (top, bottom) for column in (left, right)]
    share = [v[:, None] * h[None, :] for v in (1 - down, down) for h in (1 - across, across)]
    return (
        torch.stack([_in_merge_order(part) for part in index], dim=1),
        torch.stack([_in_merge_order(part) for part in share], dim=1),
    )


def prompt_shape(
    config: Any, image_size: tuple[int, int], prefix_length: int, tail_length: int, device: str | torch.device = "cpu"
) -> PromptShape:
    """Constants for a batch of images of one size.

    Args:
        config: The `Qwen3VLConfig`.
        image_size: (width, height) in pixels, multiples of 32.
        prefix_length: Tokens before the image tokens.
        tail_length: Tokens after them.
        device: Where the constants live.

    Raises:
        ValueError: If a side is not a multiple of 32 pixels.
    """
    width, height = image_size
    if width % (PATCH_SIZE * MERGE_SIZE) or height % (PATCH_SIZE * MERGE_SIZE):
        raise ValueError(f"image size {width} × {height} must be multiples of {PATCH_SIZE * MERGE_SIZE} pixels")
    grid_height, grid_width = height // PATCH_SIZE, width // PATCH_SIZE
    rows = torch.arange(grid_height)[:, None].expand(grid_height, grid_width)
    columns = torch.arange(grid_width)[None, :].expand(grid_height, grid_width)
    vision = config.vision_config
    vision_cos, vision_sin = _vision_rope(
        _in_merge_order(rows), _in_merge_order(columns), vision.hidden_size // vision.num_heads
    )
    text_cos, text_sin = _text_rope(
        _text_positions((grid_height, grid_width), prefix_length, tail_length), config.text_config
    )
    index, weight = _position_blend(grid_height, grid_width, round(vision.num_position_embeddings**0.5))
    return PromptShape(
        grid_height=grid_height,
        grid_width=grid_width,
        prefix_length=prefix_length,
        tail_length=tail_length,
        image_tokens=grid_height * grid_width // MERGE_SIZE**2,
        text_cos=text_cos.to(device),
        text_sin=text_sin.to(device),
        vision_cos=vision_cos.to(device),
        vision_sin=vision_sin.to(device),
        position_index=index.to(device),
        position_weight=weight.to(device),
    )


def _rotated(values: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Applies a rotary embedding to (batch, heads, tokens, head_dim)."""
    first, second = values.chunk(2, dim=-1)
    return values * cos + torch.cat([-second, first], dim=-1) * sin


def _linear(weights: Weights, name: str, values: torch.Tensor) -> torch.Tensor:
    return functional.linear(values, weights[f"{name}.weight"], weights.get(f"{name}.bias"))


def _layer_norm(weights: Weights, name: str, values: torch.Tensor) -> torch.Tensor:
    weight = weights[f"{name}.weight"]
    return functional.layer_norm(values, weight.shape, weight, weights[f"{name}.bias"], _NORM_EPS)


def _rms_norm(weights: Weights, name: str, values: torch.Tensor) -> torch.Tensor:
    weight = weights[f"{name}.weight"]
    return functional.rms_norm(values, weight.shape, weight, _NORM_EPS)


def patches_of(images: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """(batch, height, width, 3) bytes to (batch, patches, 768) values in -1..1, in merge order, channels first."""
    batch, height, width, channels = images.shape
    rows, columns = height // (PATCH_SIZE * MERGE_SIZE), width // (PATCH_SIZE * MERGE_SIZE)
    values = (images.to(dtype) / 127.5) - 1.0
    blocks = values.reshape(batch, rows, MERGE_SIZE, PATCH_SIZE, columns, MERGE_SIZE, PATCH_SIZE, channels)
    return blocks.permute(0, 1, 4, 2, 5, 7, 3, 6).reshape(batch, -1, channels * PATCH_SIZE * PATCH_SIZE)


def _vision_block(weights: Weights, name: str, hidden: torch.Tensor, shape: PromptShape, heads: int) -> torch.Tensor:
    batch, patches, width = hidden.shape
    qkv = _linear(weights, f"{name}.attn.qkv", _layer_norm(weights, f"{name}.norm1", hidden))
    query, key, value = qkv.reshape(batch, patches, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind(0)
    cos, sin = shape.vision_cos.to(hidden.dtype), shape.vision_sin.to(hidden.dtype)
    mixed = functional.scaled_dot_product_attention(_rotated(query, cos, sin), _rotated(key, cos, sin), value)
    hidden = hidden + _linear(weights, f"{name}.attn.proj", mixed.transpose(1, 2).reshape(batch, patches, width))
    inner = _linear(weights, f"{name}.mlp.linear_fc1", _layer_norm(weights, f"{name}.norm2", hidden))
    return hidden + _linear(weights, f"{name}.mlp.linear_fc2", functional.gelu(inner, approximate="tanh"))


def _merged(weights: Weights, name: str, hidden: torch.Tensor, norm_after_shuffle: bool) -> torch.Tensor:
    batch, patches, width = hidden.shape
    shuffled = (batch, patches // MERGE_SIZE**2, width * MERGE_SIZE**2)
    if norm_after_shuffle:
        values = _layer_norm(weights, f"{name}.norm", hidden.reshape(shuffled))
    else:
        values = _layer_norm(weights, f"{name}.norm", hidden).reshape(shuffled)
    return _linear(weights, f"{name}.linear_fc2", functional.gelu(_linear(weights, f"{name}.linear_fc1", values)))


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
    """The vision tower on (batch, height, width, 3) bytes."""
    vision = config.vision_config
    kernel = weights[f"{_VISION}patch_embed.proj.weight"]
    # A still image fills both frames of the temporal patch, so the two kernels add.
    flat_kernel = kernel.sum(dim=2).reshape(kernel.shape[0], -1)
    hidden = functional.linear(
        patches_of(images, kernel.dtype), flat_kernel, weights[f"{_VISION}patch_embed.proj.bias"]
    )
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


def _text_layer(weights: Weights, name: str, hidden: torch.Tensor, shape: PromptShape, config: Any) -> torch.Tensor:
    batch, tokens, _ = hidden.shape
    head_dim = config.head_dim
    values = _rms_norm(weights, f"{name}.input_layernorm", hidden)

    def heads(part: str) -> torch.Tensor:
        return _linear(weights, f"{name}.self_attn.{part}", values).reshape(batch, tokens, -1, head_dim)

    query = _rms_norm(weights, f"{name}.self_attn.q_norm", heads("q_proj")).transpose(1, 2)
    key = _rms_norm(weights, f"{name}.self_attn.k_norm", heads("k_proj")).transpose(1, 2)
    cos, sin = shape.text_cos[:tokens].to(hidden.dtype), shape.text_sin[:tokens].to(hidden.dtype)
    mixed = functional.scaled_dot_product_attention(
        _rotated(query, cos, sin),
        _rotated(key, cos, sin),
        heads("v_proj").transpose(1, 2),
        is_causal=True,
        enable_gqa=True,
    )
    hidden = hidden + _linear(weights, f"{name}.self_attn.o_proj", mixed.transpose(1, 2).reshape(batch, tokens, -1))
    values = _rms_norm(weights, f"{name}.post_attention_layernorm", hidden)
    gate = functional.silu(_linear(weights, f"{name}.mlp.gate_proj", values))
    return hidden + _linear(weights, f"{name}.mlp.down_proj", gate * _linear(weights, f"{name}.mlp.up_proj", values))


def text_forward(
    weights: Weights,
    config: Any,
    shape: PromptShape,
    prefix_ids: torch.Tensor,
    vision: VisionOutput,
    tail_ids: torch.Tensor,
) -> torch.Tensor:
    """The language model on prefix, image, tail.

    Args:
        weights: Weights by name.
        config: The `Qwen3VLConfig`.
        shape: Constants; `tail_ids` may be shorter than its `tail_length`.
        prefix_ids: (prefix,) ids before the image, the same for the whole batch.
        vision: Output of `vision_forward`.
        tail_ids: (batch, tail) ids after the image, padded on the right.

    Returns:
        (batch, tail, vocabulary) logits of the token after each tail position.
    """
    text = config.text_config
    table = weights[f"{_TEXT}embed_tokens.weight"]
    batch = tail_ids.shape[0]
    prefix = functional.embedding(prefix_ids, table).expand(batch, -1, -1)
    hidden = torch.cat([prefix, vision.tokens, functional.embedding(tail_ids, table)], dim=1)
    start, end = shape.prefix_length, shape.prefix_length + shape.image_tokens
    for layer in range(text.num_hidden_layers):
        hidden = _text_layer(weights, f"{_TEXT}layers.{layer}", hidden, shape, text)
        if layer < len(vision.deepstack):
            level = functional.pad(vision.deepstack[layer], (0, 0, start, hidden.shape[1] - end))
            hidden = hidden + level
    return functional.linear(_rms_norm(weights, f"{_TEXT}norm", hidden[:, end:]), table)
