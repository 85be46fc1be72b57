"""`TLiveOmniConfig`: Qwen3-VL's configuration and, beside it, the audio encoder's and the audio DeepStack's."""

from __future__ import annotations

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import Qwen3VLConfig
from transformers.models.qwen3_omni_moe.configuration_qwen3_omni_moe import Qwen3OmniMoeAudioEncoderConfig
from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLTextConfig, Qwen3VLVisionConfig

MODEL_TYPE = "tliveomni"
SUPPORTED_N_WINDOW = 50
"""Half the frames that the encoder convolves at a time; transformers' count of its tokens holds for this value only."""
ARCHITECTURE = "TLiveOmniForConditionalGeneration"


@strict
class TLiveOmniConfig(Qwen3VLConfig):  # type: ignore[misc]
    """Configuration of a TLiveOmni model.

    Attributes:
        text_config: Qwen3-VL's language model.
        vision_config: Qwen3-VL's vision tower, its DeepStack included.
        audio_config: Qwen3-Omni's audio encoder (AuT); its `output_dim` is the language model's `hidden_size`.
        audio_deepstack_layer_indexes: Audio layers, counted from 0, whose output is added to the first language layers
            (the first to language layer 0, and so on); strictly increasing.
        image_token_id: Placeholder of an image token.
        video_token_id: Placeholder of a video token.
        audio_token_id: Placeholder of an audio token.
        vision_start_token_id: Stands before the tokens of an image or of a video's frames.
        vision_end_token_id: Stands after them.
        audio_start_token_id: Stands before the tokens of an audio, or of an audio's part between two frames.
        audio_end_token_id: Stands after them.
    """

    model_type = MODEL_TYPE
    sub_configs = {  # noqa: RUF012
        "vision_config": Qwen3VLVisionConfig,
        "text_config": Qwen3VLTextConfig,
        "audio_config": Qwen3OmniMoeAudioEncoderConfig,
    }

    audio_config: Any = None
    audio_deepstack_layer_indexes: list[int] | tuple[int, ...] = (8, 16, 24)
    audio_token_id: int = 151675
    audio_start_token_id: int = 151669
    audio_end_token_id: int = 151670

    def __post_init__(self, **kwargs: Any) -> None:
        text: Any = self.text_config  # type: ignore[has-type]
        if not isinstance(text, Qwen3VLTextConfig):
            self.text_config = Qwen3VLTextConfig(**(text or {}))
        if self.audio_config is None:
            self.audio_config = Qwen3OmniMoeAudioEncoderConfig(output_dim=self.text_config.hidden_size)
        elif isinstance(self.audio_config, dict):
            self.audio_config = Qwen3OmniMoeAudioEncoderConfig(**self.audio_config)
        super().__post_init__(**kwargs)
        self._check_audio()

    def _check_audio(self) -> None:
        if self.audio_config.n_window != SUPPORTED_N_WINDOW:
            raise ValueError(
                f"audio_config.n_window {self.audio_config.n_window} must be {SUPPORTED_N_WINDOW}, for which "
                "the encoder makes 13 tokens of a second"
            )
        indexes = list(self.audio_deepstack_layer_indexes)
        audio_layers, text_layers = self.audio_config.encoder_layers, self.text_config.num_hidden_layers
        if indexes != sorted(set(indexes)) or any(not 0 <= index < audio_layers for index in indexes):
            raise ValueError(
                f"audio_deepstack_layer_indexes {indexes} must rise and lie in 0 to {audio_layers - 1}, "
                f"for audio_config has {audio_layers} layers"
            )
        if len(indexes) > text_layers:
            raise ValueError(
                f"audio_deepstack_layer_indexes {indexes} has more levels than the {text_layers} layers of text_config"
            )
        if self.audio_config.output_dim != self.text_config.hidden_size:
            raise ValueError(
                f"audio_config.output_dim {self.audio_config.output_dim} must be text_config.hidden_size "
                f"{self.text_config.hidden_size}: audio embeddings stand among those of the text"
            )
