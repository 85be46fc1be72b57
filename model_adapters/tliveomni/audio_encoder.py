"""Qwen3-Omni's audio encoder with the mergers of the audio DeepStack."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from transformers.activations import ACT2FN
from transformers.models.qwen3_omni_moe.configuration_qwen3_omni_moe import Qwen3OmniMoeAudioEncoderConfig
from transformers.models.qwen3_omni_moe.modeling_qwen3_omni_moe import Qwen3OmniMoeAudioEncoder


class AudioDeepStackMerger(nn.Module):  # type: ignore[misc]
    """Takes an audio layer's output to the language model's width, as the aligner does: linear, activation, linear.

    Args:
        config: Of the audio encoder.
    """

    def __init__(self, config: Qwen3OmniMoeAudioEncoderConfig) -> None:
        super().__init__()
        self.proj1 = nn.Linear(config.d_model, config.d_model)
        self.act = ACT2FN[config.activation_function]
        self.proj2 = nn.Linear(config.d_model, config.output_dim)

    def forward(self, hidden_states: Tensor) -> Tensor:
        """(tokens, d_model) to (tokens, output_dim)."""
        merged: Tensor = self.proj2(self.act(self.proj1(hidden_states)))
        return merged


class TLiveOmniAudioEncoder(Qwen3OmniMoeAudioEncoder):  # type: ignore[misc]
    """Qwen3-Omni's audio encoder with the mergers of the audio DeepStack.

    Args:
        config: Of the encoder.
        deepstack_layer_indexes: Layers whose output is merged, counted from 0, rising.
    """

    def __init__(self, config: Qwen3OmniMoeAudioEncoderConfig, deepstack_layer_indexes: Sequence[int]) -> None:
        super().__init__(config)
        self.deepstack_layer_indexes = tuple(deepstack_layer_indexes)
        self.deepstack_merger_list = nn.ModuleList(AudioDeepStackMerger(config) for _ in self.deepstack_layer_indexes)
        self.post_init()

    def encode(self, features: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Encode one audio.

        Args:
            features: Log-mel frames, (mel bins, frames), without padding.

        Returns:
            Embeddings, (tokens, output_dim), and those of each DeepStack level, of the same shape.
        """
        lengths = torch.tensor([features.shape[-1]], device=features.device)
        # Element 0 is the input of the first layer, element i + 1 the output of layer i.
        output = self(features, feature_lens=lengths, output_hidden_states=True, return_dict=True)
        levels = tuple(
            merger(output.hidden_states[index + 1])
            for index, merger in zip(self.deepstack_layer_indexes, self.deepstack_merger_list, strict=True)
        )
        return output.last_hidden_state, levels
