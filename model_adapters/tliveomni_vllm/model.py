"""`TLiveOmniForConditionalGeneration` for vLLM: Qwen3-VL as vLLM has it, and the audio tower with its DeepStack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from tliveomni_eval.model_adapters.tliveomni_vllm.audio_tower import TLiveOmniAudioTower
from tliveomni_eval.model_adapters.tliveomni_vllm.deepstack_order import add_residual_before_deepstack
from tliveomni_eval.model_adapters.tliveomni_vllm.dummy_inputs import TLiveOmniDummyInputsBuilder
from tliveomni_eval.model_adapters.tliveomni_vllm.embedding_placement import place_embeddings
from tliveomni_eval.model_adapters.tliveomni_vllm.multimodal_processor import processor_of_this_vllm
from tliveomni_eval.model_adapters.tliveomni_vllm.parity_switches import alignments_of
from tliveomni_eval.model_adapters.tliveomni_vllm.processing_info import TLiveOmniProcessingInfo
from tliveomni_eval.model_adapters.tliveomni_vllm.transformers_norm import use_transformers_norms
from torch import Tensor
from vllm.distributed import get_pp_group
from vllm.model_executor.models.module_mapping import MultiModelKeys
from vllm.model_executor.models.qwen3_vl import Qwen3VLForConditionalGeneration
from vllm.model_executor.models.utils import PPMissingLayer, WeightsMapper, maybe_prefix
from vllm.multimodal import MULTIMODAL_REGISTRY
from vllm.multimodal.utils import get_mm_embedding_modalities

_AUDIO_KEYS = ("input_audio_features", "audio_feature_lengths")


@MULTIMODAL_REGISTRY.register_processor(
    processor_of_this_vllm(), info=TLiveOmniProcessingInfo, dummy_inputs=TLiveOmniDummyInputsBuilder
)
class TLiveOmniForConditionalGeneration(Qwen3VLForConditionalGeneration):  # type: ignore[misc]
    """See the module.

    Args:
        vllm_config: Of the engine; the model's configuration in it may hold parity switches.
        prefix: Name of the module.
    """

    supports_tower_connector_lora = False
    supported_video_pruning_methods = ()

    hf_to_vllm_mapper = WeightsMapper(
        orig_to_new_prefix={
            "model.visual.": "visual.",
            "model.audio_tower.": "audio_tower.",
            "lm_head.": "language_model.lm_head.",
            "model.language_model.": "language_model.model.",
        }
    )

    @classmethod
    def get_placeholder_str(cls, modality: str, i: int) -> str | None:
        """What stands in a prompt for a medium, before it is expanded.

        Args:
            modality: Kind of the medium.
            i: Which of its kind, from 1.

        Raises:
            ValueError: TLiveOmni does not take this kind.
        """
        if modality.startswith("audio"):
            return "<|audio_start|><|audio_pad|><|audio_end|>"
        if modality.startswith(("image", "video")):
            text: str | None = super().get_placeholder_str(modality, i)
            return text
        raise ValueError(f"TLiveOmni takes image, video and audio, not {modality!r}")

    def __init__(self, *, vllm_config: Any, prefix: str = "model") -> None:
        super().__init__(vllm_config=vllm_config, prefix=prefix)
        config = self.config
        self.alignments = alignments_of(config)
        with self._mark_tower_model(vllm_config, {"audio"}):
            self.audio_tower = TLiveOmniAudioTower(
                config.audio_config, config.audio_deepstack_layer_indexes, prefix=maybe_prefix(prefix, "audio_tower")
            )
        self._widen_deepstack(vllm_config.scheduler_config.max_num_batched_tokens)
        layers = [
            layer for layer in self.language_model.model.layers if not isinstance(layer, PPMissingLayer)
        ]  # Those of this pipeline stage.
        if self.alignments.deepstack_order and get_pp_group().is_first_rank:
            add_residual_before_deepstack(layers, self.deepstack_num_level)
        if self.alignments.norm_order:
            use_transformers_norms(self.language_model)

    def _widen_deepstack(self, max_tokens: int) -> None:
        """Make the buffers hold as many levels as the tower with the most has."""
        config = self.config
        levels = max(len(config.vision_config.deepstack_visual_indexes), len(config.audio_deepstack_layer_indexes))
        stage_start = self.language_model.model.start_layer
        if not get_pp_group().is_first_rank and stage_start < levels:
            raise ValueError(f"the first pipeline stage must hold the {levels} layers of DeepStack, not {stage_start}")
        if get_pp_group().is_first_rank and self.language_model.model.end_layer < levels:
            raise ValueError(f"the first pipeline stage must hold the {levels} layers of DeepStack")
        self.use_deepstack = levels > 0
        self.deepstack_num_level = levels
        self.multiscale_dim = self.visual_dim * levels
        self.deepstack_input_embeds = [torch.zeros(max_tokens, config.text_config.hidden_size) for _ in range(levels)]
        self.deepstack_input_embeds_num_tokens = 0

    def embed_multimodal(self, **kwargs: object) -> Any:
        """Embeddings of media, one tensor a medium, (tokens, hidden · (1 + its DeepStack levels)).

        Args:
            **kwargs: Tensors of the media, as the multimodal processor names them.
        """
        audio = {key: kwargs.pop(key) for key in _AUDIO_KEYS if key in kwargs}
        embeddings = tuple(super().embed_multimodal(**kwargs) or ()) if kwargs else ()
        if audio:
            embeddings += self._embed_audio(audio["input_audio_features"], audio["audio_feature_lengths"])
        return embeddings

    def _embed_audio(self, features: Any, lengths: Any) -> tuple[Tensor, ...]:
        frames = [int(length) for length in torch.as_tensor(lengths).flatten().tolist()]
        return tuple(self.audio_tower.encode(part) for part in features.split(frames, dim=1))

    def embed_input_ids(
        self,
        input_ids: Tensor,
        multimodal_embeddings: Sequence[Tensor] | None = None,
        *,
        is_multimodal: Tensor | None = None,
    ) -> Tensor:
        """Embeddings of a step's tokens; DeepStack levels go to the buffers that the forward pass reads.

        Args:
            input_ids: (tokens).
            multimodal_embeddings: Of each medium, what falls into the step.
            is_multimodal: Where media stand, (tokens).
        """
        embeddings: Tensor = self._embed_text_input_ids(
            input_ids, self.language_model.embed_input_ids, is_multimodal=is_multimodal
        )
        if multimodal_embeddings is None or len(multimodal_embeddings) == 0:
            return embeddings
        if is_multimodal is None:
            raise ValueError("is_multimodal is missing: the places of the media are unknown")
        tokens, hidden = embeddings.shape
        levels = self.deepstack_num_level
        placed = place_embeddings(
            input_ids,
            is_multimodal,
            multimodal_embeddings,
            get_mm_embedding_modalities(multimodal_embeddings) if self.alignments.interleave else (),
            {
                "image": self.config.image_token_id,
                "video": self.config.video_token_id,
                "audio": self.config.audio_token_id,
            },
            hidden * (1 + levels),
            self.alignments.interleave,
        ).to(embeddings.dtype)
        if levels:
            self._set_deepstack_input_embeds(placed[:, hidden:].view(tokens, levels, hidden).permute(1, 0, 2))
        return torch.where(is_multimodal.to(embeddings.device).unsqueeze(-1), placed[:, :hidden], embeddings)

    def get_mrope_input_positions(self, input_tokens: list[int], mm_features: list[Any]) -> tuple[Tensor, int]:
        """Positions in time, height and width, (3, tokens), and what to add after them; audio is placed like text.

        Args:
            input_tokens: Token ids of the prompt.
            mm_features: Its media.
        """
        seen = [feature for feature in mm_features if feature.modality != "audio"]
        positions: tuple[Tensor, int] = super().get_mrope_input_positions(input_tokens, seen)
        return positions

    def get_mm_mapping(self) -> MultiModelKeys:
        """Which modules are the language model, towers, and connectors."""
        return MultiModelKeys.from_string_field(
            language_model="language_model",
            connector=[
                "visual.merger",
                "visual.deepstack_merger_list",
                "audio_tower.proj1",
                "audio_tower.proj2",
                "audio_tower.deepstack_merger_list",
            ],
            tower_model=["visual.", "audio_tower."],
        )
