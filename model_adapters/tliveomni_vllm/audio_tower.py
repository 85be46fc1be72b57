"""Qwen3-Omni's audio encoder as vLLM has it, with the mergers of TLiveOmni's audio DeepStack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from tliveomni_eval.model_adapters.tliveomni.audio_lengths import token_count
from torch import Tensor, nn
from vllm.model_executor.layers.activation import _ACTIVATION_REGISTRY
from vllm.model_executor.layers.linear import ReplicatedLinear
from vllm.model_executor.models.qwen3_omni_moe_thinker import Qwen3OmniMoeAudioEncoder


class AudioDeepStackMerger(nn.Module):  # type: ignore[misc]
    """Takes an audio layer's output to the language model's width: linear, activation, linear.

    Args:
        config: Of the audio encoder.
        prefix: Name of the module in the model.
    """

    def __init__(self, config: Any, prefix: str) -> None:
        super().__init__()
        self.proj1 = ReplicatedLinear(config.d_model, config.d_model, return_bias=False, prefix=f"{prefix}.proj1")
        self.act = _ACTIVATION_REGISTRY[config.activation_function]
        self.proj2 = ReplicatedLinear(config.d_model, config.output_dim, return_bias=False, prefix=f"{prefix}.proj2")

    def forward(self, hidden_states: Tensor) -> Tensor:
        """(tokens, d_model) to (tokens, output_dim)."""
        merged: Tensor = self.proj2(self.act(self.proj1(hidden_states)))
        return merged


class TLiveOmniAudioTower(Qwen3OmniMoeAudioEncoder):  # type: ignore[misc]
    """The encoder and its mergers.

    Args:
        config: Of the encoder.
        deepstack_layer_indexes: Layers whose output is merged, counted from 0.
        prefix: Name of the module in the model.
    """

    def __init__(self, config: Any, deepstack_layer_indexes: Sequence[int], prefix: str = "") -> None:
        super().__init__(config, prefix=prefix)
        self.deepstack_merger_list = nn.ModuleList(
            AudioDeepStackMerger(config, f"{prefix}.deepstack_merger_list.{level}")
            for level in range(len(deepstack_layer_indexes))
        )
        self._layer_outputs: list[Tensor] = []
        for index in deepstack_layer_indexes:
            self.layers[index].register_forward_hook(self._keep_output)

    def encode(self, features: Tensor) -> Tensor:
        """Encode one audio; never two at once, for the encoder pads parts to the longest and the padding shows.

        Args:
            features: Log-mel frames, (mel bins, frames).

        Returns:
            For each token the embedding and after it each DeepStack level, (tokens, output_dim · (1 + levels)).
        """
        frames = features.shape[1]
        self._layer_outputs.clear()
        embedding = self(
            features.to(self.dtype),
            feature_lens=torch.tensor([frames], device=self.device),
            aftercnn_lens=torch.tensor([token_count(frames)], device=self.device),
        )
        levels = [
            merger(output) for merger, output in zip(self.deepstack_merger_list, self._layer_outputs, strict=True)
        ]
        self._layer_outputs.clear()
        return torch.cat([embedding, *levels], dim=-1)

    def _keep_output(self, _layer: nn.Module, _arguments: Any, output: Tensor) -> None:
        self._layer_outputs.append(output)
