"""Qwen3-VL's language model over a dictionary of weights, for batches of one shape.

Every image of a batch has the same size and the text starts at the same place, so positions are constants, attention
needs no mask but the causal one, and nothing depends on values: the whole pass can be captured in a CUDA graph.
Weight names are transformers' own; the result equals `Qwen3VLForConditionalGeneration` to 1e-5 in float32 (tested).
`lean_sequence.py` is the pass for audio and video, `lean_audio.py` the audio tower.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as functional

from .lean_layers import Weights, linear, rms_norm, rotated
from .lean_vision import VisionOutput
from .prompt_shape import PromptShape

TEXT = "model.language_model."


def text_layer(
    weights: Weights, name: str, hidden: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, config: Any
) -> torch.Tensor:
    """One layer of the language model, causal.

    Args:
        weights: Weights by name.
        name: Of the layer.
        hidden: (batch, tokens, hidden).
        cos: Cosines of the rotary embedding, (tokens, head_dim) or (batch, 1, tokens, head_dim).
        sin: Its sines.
        config: Of the language model.
    """
    batch, tokens, _ = hidden.shape
    head_dim = config.head_dim
    values = rms_norm(weights, f"{name}.input_layernorm", hidden)

    def heads(part: str) -> torch.Tensor:
        return linear(weights, f"{name}.self_attn.{part}", values).reshape(batch, tokens, -1, head_dim)

    query = rms_norm(weights, f"{name}.self_attn.q_norm", heads("q_proj")).transpose(1, 2)
    key = rms_norm(weights, f"{name}.self_attn.k_norm", heads("k_proj")).transpose(1, 2)
    mixed = functional.scaled_dot_product_attention(
        rotated(query, cos, sin),
        rotated(key, cos, sin),
        heads("v_proj").transpose(1, 2),
        is_causal=True,
        enable_gqa=True,
    )
    hidden = hidden + linear(weights, f"{name}.self_attn.o_proj", mixed.transpose(1, 2).reshape(batch, tokens, -1))
    values = rms_norm(weights, f"{name}.post_attention_layernorm", hidden)
    gate = functional.silu(linear(weights, f"{name}.mlp.gate_proj", values))
    return hidden + linear(weights, f"{name}.mlp.down_proj", gate * linear(weights, f"{name}.mlp.up_proj", values))


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
    table = weights[f"{TEXT}embed_tokens.weight"]
    batch = tail_ids.shape[0]
    prefix = functional.embedding(prefix_ids, table).expand(batch, -1, -1)
    hidden = torch.cat([prefix, vision.tokens, functional.embedding(tail_ids, table)], dim=1)
    start, end = shape.prefix_length, shape.prefix_length + shape.image_tokens
    tokens = hidden.shape[1]
    cos, sin = shape.text_cos[:tokens].to(hidden.dtype), shape.text_sin[:tokens].to(hidden.dtype)
    for layer in range(text.num_hidden_layers):
        hidden = text_layer(weights, f"{TEXT}layers.{layer}", hidden, cos, sin, text)
        if layer < len(vision.deepstack):
            level = functional.pad(vision.deepstack[layer], (0, 0, start, hidden.shape[1] - end))
            hidden = hidden + level
    return functional.linear(rms_norm(weights, f"{TEXT}norm", hidden[:, end:]), table)
