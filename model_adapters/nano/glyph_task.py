"""The auxiliary task: name the characters in every patch from the vision tower's last block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as functional

from .glyph_sheet import BLANK, LABEL_COUNT, SLOTS_A_PATCH, draw_glyph_sheet
from .image_pool import PoolLayout, Sample
from .lean_vision import vision_forward
from .prompt_shape import PromptShape, prompt_shape
from .training_task import ShapeClass

HEAD = "auxiliary.glyph_head"
"""Name of the head's weight and bias; weights under `auxiliary.` stay out of the checkpoint."""
_BLANK_WEIGHT = 0.1
_LARGEST_START_PX = 22
_SMALLEST_PX = 10


@dataclass
class GlyphTask:
    """Characters of every patch.

    Attributes:
        config: The `Qwen3VLConfig`.
        image_size: (width, height) in pixels of the sheets.
        batch_size: Sheets a batch.
        capacity: Sheets held on the device.
        weight: Factor of the loss.
    """

    config: Any
    image_size: tuple[int, int] = (320, 192)
    batch_size: int = 128
    capacity: int = 8192
    weight: float = 0.5
    name: str = "glyphs"

    def layouts(self) -> Mapping[str, PoolLayout]:
        """One pool of sheets."""
        width, height = self.image_size
        patches = width * height // 256
        arrays = {"pixels": ((height, width, 3), "uint8"), "labels": ((patches, SLOTS_A_PATCH), "int16")}
        return {self.name: PoolLayout(arrays, self.capacity)}

    def sample(self, seed: int, difficulty: float) -> tuple[str, Sample] | None:
        """Draws the sheet of a seed; the smallest text shrinks as difficulty grows."""
        smallest = round(_LARGEST_START_PX + (_SMALLEST_PX - _LARGEST_START_PX) * difficulty)
        sheet = draw_glyph_sheet(seed, self.image_size, smallest)
        return self.name, {"pixels": sheet.pixels, "labels": sheet.labels}

    def shape_classes(self, device: torch.device) -> list[ShapeClass]:
        """One class: all sheets have one size."""
        shape = prompt_shape(self.config, self.image_size, 1, 1, device)
        label_weights = torch.ones(LABEL_COUNT, device=device)
        label_weights[BLANK] = _BLANK_WEIGHT

        def loss(weights: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
            return self.weight * glyph_loss(weights, self.config, shape, label_weights, batch)

        return [ShapeClass(self.name, self.name, self.batch_size, loss)]

    def extra_weights(self) -> Mapping[str, torch.Tensor]:
        """The head."""
        width = self.config.vision_config.hidden_size
        outputs = SLOTS_A_PATCH * LABEL_COUNT
        return {f"{HEAD}.weight": torch.randn(outputs, width) * width**-0.5, f"{HEAD}.bias": torch.zeros(outputs)}


def glyph_loss(
    weights: Mapping[str, torch.Tensor],
    config: Any,
    shape: PromptShape,
    label_weights: torch.Tensor,
    batch: Mapping[str, torch.Tensor],
) -> torch.Tensor:
    """Weighted mean cross-entropy over patches and slots, in nats."""
    hidden = vision_forward(weights, config, shape, batch["pixels"]).patches
    hidden = functional.layer_norm(hidden, hidden.shape[-1:])
    logits = functional.linear(hidden, weights[f"{HEAD}.weight"], weights[f"{HEAD}.bias"])
    return functional.cross_entropy(
        logits.reshape(-1, LABEL_COUNT).float(), batch["labels"].long().flatten(), weight=label_weights
    )
