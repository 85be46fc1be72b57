"""Constants of a batch whose prompts have one shape: positions and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from .architecture import MERGE_SIZE, PATCH_SIZE

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


def text_rope(positions: torch.Tensor, config: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of the language model's rotary embedding, each (…, head_dim).

    Args:
        positions: (3, …) in time, height and width.
        config: Of the language model.
    """
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
    text_cos, text_sin = text_rope(
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
