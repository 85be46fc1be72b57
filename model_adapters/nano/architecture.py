"""The shape of TLiveOmni-nano: a stock Qwen3-VL configuration, small enough to live in a repository.

Stage one is text and vision. Widths that the text linears see divide by 128 so that group-128 weight quantization
applies as it does on the full-size model; the vision tower is narrower because good recipes leave it in 16 bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

PATCH_SIZE = 16
"""Side of a vision patch in pixels."""
MERGE_SIZE = 2
"""Patches a side that become one language token: one token covers 32 × 32 pixels."""
TEMPORAL_PATCH_SIZE = 2
"""Frames a patch covers; a still image is repeated."""
PIXELS_PER_TOKEN_SIDE = PATCH_SIZE * MERGE_SIZE
MIN_PIXELS = 192 * 192
"""Images with fewer pixels are enlarged by the processor."""
MAX_PIXELS = 640 * 384
"""Images with more pixels are shrunk by the processor; training never saw larger ones."""


@dataclass(frozen=True, slots=True)
class NanoDimensions:
    """Widths and depths of nano. The defaults are the published checkpoint's.

    Attributes:
        hidden_size: Width of the language model.
        num_layers: Language layers.
        num_heads: Query heads.
        num_key_value_heads: Key and value heads.
        head_dim: Width of a head; `mrope_section` must sum to half of it.
        intermediate_size: Width of the gated MLP.
        mrope_section: Rotary frequencies given to time, height and width.
        rope_theta: Rotary base of the language model. Small, since prompts have hundreds of tokens, not thousands.
        max_position_embeddings: Longest context in tokens.
        vision_hidden_size: Width of the vision tower.
        vision_depth: Vision blocks.
        vision_num_heads: Vision heads.
        vision_intermediate_size: Width of the vision MLP.
        vision_position_embeddings: Learned positions, a square number; resampled to each image's grid.
        deepstack_visual_indexes: Vision blocks whose output is added to the first language layers (DeepStack).
    """

    hidden_size: int = 256
    num_layers: int = 6
    num_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 64
    intermediate_size: int = 1024
    mrope_section: tuple[int, int, int] = (12, 10, 10)
    rope_theta: float = 10_000.0
    max_position_embeddings: int = 8192
    vision_hidden_size: int = 192
    vision_depth: int = 6
    vision_num_heads: int = 3
    vision_intermediate_size: int = 768
    vision_position_embeddings: int = 576
    deepstack_visual_indexes: tuple[int, ...] = (2,)

    def __post_init__(self) -> None:
        if 2 * sum(self.mrope_section) != self.head_dim:
            raise ValueError(
                f"mrope_section {self.mrope_section} must sum to half of head_dim {self.head_dim}, "
                f"got {sum(self.mrope_section)}"
            )
        if self.vision_hidden_size % self.vision_num_heads:
            raise ValueError(
                f"vision_hidden_size {self.vision_hidden_size} must divide by vision_num_heads {self.vision_num_heads}"
            )
        if round(self.vision_position_embeddings**0.5) ** 2 != self.vision_position_embeddings:
            raise ValueError(f"vision_position_embeddings must be a square, got {self.vision_position_embeddings}")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> NanoDimensions:
        """Builds dimensions from a run configuration's `model` section.

        Raises:
            ValueError: If a key is unknown.
        """
        known = set(cls.__dataclass_fields__)
        if unknown := sorted(set(values) - known):
            raise ValueError(f"unknown model dimension {unknown[0]!r}; known: {', '.join(sorted(known))}")
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
        }
        return cls(**fields)

    def to_mapping(self) -> dict[str, Any]:
        """The dimensions as JSON-ready values."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


def build_config(dimensions: NanoDimensions, vocab_size: int, token_ids: Mapping[str, int]) -> Any:
    """The `Qwen3VLConfig` of nano.

    Args:
        dimensions: Widths and depths.
        vocab_size: Rows of the embedding, at least the tokenizer's size.
        token_ids: Id of each special token by its text (`<|image_pad|>`, `<|im_end|>`, …).

    Returns:
        A `transformers.Qwen3VLConfig` with tied embeddings.
    """
    from transformers import Qwen3VLConfig

    return Qwen3VLConfig(
        architectures=["Qwen3VLForConditionalGeneration"],
        image_token_id=token_ids["<|image_pad|>"],
        video_token_id=token_ids["<|video_pad|>"],
        vision_start_token_id=token_ids["<|vision_start|>"],
        vision_end_token_id=token_ids["<|vision_end|>"],
        tie_word_embeddings=True,
        text_config={
            "vocab_size": vocab_size,
            "hidden_size": dimensions.hidden_size,
            "intermediate_size": dimensions.intermediate_size,
            "num_hidden_layers": dimensions.num_layers,
            "num_attention_heads": dimensions.num_heads,
            "num_key_value_heads": dimensions.num_key_value_heads,
            "head_dim": dimensions.head_dim,
            "max_position_embeddings": dimensions.max_position_embeddings,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": dimensions.rope_theta,
                "mrope_section": list(dimensions.mrope_section),
                "mrope_interleaved": True,
            },
            "bos_token_id": None,
            "eos_token_id": token_ids["<|im_end|>"],
            "pad_token_id": None,
            "tie_word_embeddings": True,
        },
        vision_config={
            "depth": dimensions.vision_depth,
            "hidden_size": dimensions.vision_hidden_size,
            "num_heads": dimensions.vision_num_heads,
            "intermediate_size": dimensions.vision_intermediate_size,
            "patch_size": PATCH_SIZE,
            "spatial_merge_size": MERGE_SIZE,
            "temporal_patch_size": TEMPORAL_PATCH_SIZE,
            "out_hidden_size": dimensions.hidden_size,
            "num_position_embeddings": dimensions.vision_position_embeddings,
            "deepstack_visual_indexes": list(dimensions.deepstack_visual_indexes),
        },
    )


def build_model(config: Any, seed: int = 0) -> Any:
    """A randomly initialised `Qwen3VLForConditionalGeneration` in float32 on the CPU, the same for the same seed."""
    import torch
    from transformers import Qwen3VLForConditionalGeneration

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen3VLForConditionalGeneration(config).float()


def parameter_counts(model: Any) -> dict[str, int]:
    """Parameters by part: `vision`, `text` (embedding excluded), `embedding` and `total`; tied weights count once."""
    counts = {"vision": 0, "text": 0, "embedding": 0}
    for name, parameter in model.named_parameters():
        part = "vision" if "visual." in name else "embedding" if "embed_tokens" in name or "lm_head" in name else "text"
        counts[part] += parameter.numel()
    return {**counts, "total": sum(counts.values())}
