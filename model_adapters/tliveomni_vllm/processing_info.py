"""What vLLM asks about the processing of TLiveOmni's media: configuration, processor, limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tliveomni_eval.model_adapters.tliveomni.audio_lengths import SAMPLING_RATE, tokens_of_samples
from tliveomni_eval.model_adapters.tliveomni.configuration import TLiveOmniConfig
from tliveomni_eval.model_adapters.tliveomni.processing import TLiveOmniProcessor
from tliveomni_eval.model_adapters.tliveomni_vllm.parity_switches import Alignments, alignments_of
from transformers import Qwen3VLProcessor
from vllm.model_executor.models.qwen3_vl import Qwen3VLProcessingInfo
from vllm.multimodal.audio import AudioResampler

LONGEST_AUDIO_SECONDS = 720
"""A live stream of 12 minutes is what the engine makes room for; a longer audio is refused if it does not fit."""


class TLiveOmniProcessingInfo(Qwen3VLProcessingInfo):  # type: ignore[misc]
    """Qwen3-VL's, with audio."""

    def get_hf_config(self) -> TLiveOmniConfig:
        """The checkpoint's configuration."""
        config: TLiveOmniConfig = self.ctx.get_hf_config(TLiveOmniConfig)
        return config

    def get_hf_processor(self, **kwargs: object) -> Qwen3VLProcessor:
        """Qwen3-VL's processor over the parts of the checkpoint's own, for images and videos.

        Not TLiveOmni's: vLLM processes videos apart and then calls the processor again with their placeholders but
        without them, which TLiveOmni's rightly refuses.
        """
        whole = self.ctx.get_hf_processor(TLiveOmniProcessor, **kwargs)
        return Qwen3VLProcessor(whole.image_processor, whole.tokenizer, whole.video_processor)

    def get_feature_extractor(self) -> Any:
        """The checkpoint's feature extractor, for audio."""
        return self.ctx.get_hf_processor(TLiveOmniProcessor).feature_extractor

    def get_data_parser(self) -> Any:
        """Qwen3-VL's parser, told to bring audio to one channel and the encoder's rate."""
        parser = super().get_data_parser()
        parser.audio_resampler = AudioResampler(target_sr=SAMPLING_RATE)
        parser.target_channels = 1
        return parser

    def get_supported_mm_limits(self) -> Mapping[str, int | None]:
        """Any number of each kind."""
        return {"image": None, "video": None, "audio": None}

    def get_mm_max_tokens_per_item(self, seq_len: int, mm_counts: Mapping[str, int]) -> Mapping[str, int]:
        """The most tokens a medium may have.

        A video counts with a sound: both are wanted by the same tokens of an interleaved prompt, so the encoder cache
        must hold them together, or such a request would wait for ever.

        Args:
            seq_len: Context of the engine, in tokens.
            mm_counts: Media of each kind in a request.
        """
        most = dict(super().get_mm_max_tokens_per_item(seq_len, mm_counts))
        most["audio"] = tokens_of_samples(self.longest_audio_samples(seq_len))
        if mm_counts.get("audio", 0) > 0:
            most["video"] += most["audio"]
        return {kind: tokens for kind, tokens in most.items() if mm_counts.get(kind, 0) > 0}

    def longest_audio_samples(self, seq_len: int) -> int:
        """Samples of the longest audio that a context has room for, at most 12 minutes.

        Args:
            seq_len: Context in tokens.
        """
        tokens_a_second = tokens_of_samples(SAMPLING_RATE)
        return SAMPLING_RATE * max(1, min(LONGEST_AUDIO_SECONDS, seq_len // tokens_a_second))

    def joint_token_limit(self) -> int:
        """The most tokens that a video and its sound may have together: what every engine's encoder cache holds."""
        most = self.get_mm_max_tokens_per_item(self.ctx.model_config.max_model_len, {"video": 1, "audio": 1})
        return most["video"]

    @property
    def alignments(self) -> Alignments:
        """Which alignments are on."""
        return alignments_of(self.get_hf_config())
