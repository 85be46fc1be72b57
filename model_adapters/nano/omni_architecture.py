"""Nano of stage two: stage one, and an audio tower with its DeepStack beside it, as a TLiveOmni."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tliveomni_eval.model_adapters.tliveomni.configuration import ARCHITECTURE, TLiveOmniConfig
from tliveomni_eval.model_adapters.tliveomni.modeling import TLiveOmniForConditionalGeneration

from .build_tokenizer import run_tokenizer, special_token_ids
from .training_state import initial_weights

CONTEXT_TOKENS = 32_768
"""Longest context of stage two: its streams have sound."""


@dataclass(frozen=True, slots=True)
class AudioDimensions:
    """Widths and depths of the audio tower. The defaults make nano about 15 million parameters.

    Attributes:
        d_model: Width of the encoder.
        encoder_layers: Its layers.
        encoder_attention_heads: Its heads.
        encoder_ffn_dim: Width of its MLP.
        downsample_hidden_size: Channels of the three convolutions.
        deepstack_layer_indexes: Layers whose output is added to the first language layers.
    """

    d_model: int = 256
    encoder_layers: int = 5
    encoder_attention_heads: int = 4
    encoder_ffn_dim: int = 768
    downsample_hidden_size: int = 64
    deepstack_layer_indexes: tuple[int, ...] = (1, 3)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> AudioDimensions:
        """Builds dimensions from a run configuration's `audio` section.

        Raises:
            ValueError: If a key is unknown.
        """
        if unknown := sorted(set(values) - set(cls.__dataclass_fields__)):
            raise ValueError(f"unknown audio dimension {unknown[0]!r}; known: {', '.join(cls.__dataclass_fields__)}")
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
        }
        return cls(**fields)


def omni_config(stage_one: Path, audio: AudioDimensions) -> TLiveOmniConfig:
    """The configuration of stage two.

    Args:
        stage_one: Folder of a checkpoint of stage one; its text and vision are kept.
        audio: The audio tower.
    """
    kept = json.loads((stage_one / "config.json").read_text(encoding="utf-8"))
    tokens = special_token_ids(run_tokenizer(stage_one))
    encoder = asdict(audio)
    levels = encoder.pop("deepstack_layer_indexes")
    return TLiveOmniConfig(
        architectures=[ARCHITECTURE],
        text_config={**kept["text_config"], "dtype": None, "max_position_embeddings": CONTEXT_TOKENS},
        vision_config={**kept["vision_config"], "dtype": None},
        audio_config={**encoder, "output_dim": kept["text_config"]["hidden_size"]},
        audio_deepstack_layer_indexes=list(levels),
        audio_token_id=tokens["<|audio_pad|>"],
        audio_start_token_id=tokens["<|audio_start|>"],
        audio_end_token_id=tokens["<|audio_end|>"],
        **{key: kept[key] for key in kept if key.endswith("_token_id") or key == "tie_word_embeddings"},
    )


def grown_model(stage_one: Path, audio: AudioDimensions, seed: int) -> Any:
    """A model in float32 with the weights of stage one and a freshly initialised audio tower.

    Args:
        stage_one: Folder of a checkpoint of stage one.
        audio: The audio tower.
        seed: Of the fresh weights.

    Raises:
        ValueError: A weight of stage one has no place in the model.
    """
    import torch
    from safetensors.torch import load_file

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = TLiveOmniForConditionalGeneration(omni_config(stage_one, audio)).float()
    fresh = {
        name: value for name, value in initial_weights(model, {}, seed).items() if name.startswith("model.audio_tower.")
    }
    trained = {name: value.float() for name, value in load_file(stage_one / "model.safetensors").items()}
    missing, unexpected = model.load_state_dict({**trained, **fresh}, strict=False)
    if unexpected or set(missing) - {"lm_head.weight"}:
        raise ValueError(
            f"{stage_one} is no stage one of this model: {len(unexpected)} weights have no place "
            f"({', '.join(sorted(unexpected)[:3])}), {len(missing)} are missing ({', '.join(sorted(missing)[:3])})"
        )
    model.tie_weights()
    return model
