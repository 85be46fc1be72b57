"""`TLiveOmniForConditionalGeneration`: Qwen3-VL that also hears.

Text and vision are transformers' Qwen3-VL, the vision DeepStack included. Audio goes through Qwen3-Omni's audio encoder
(AuT) and its aligner (`ln_post`, `proj1`, activation, `proj2`). Audio DeepStack: the output of each audio layer that
`audio_deepstack_layer_indexes` names goes through a merger shaped like the aligner (linear, activation, linear; no
norm) and is added to the output of the language layer of the same rank, at the positions of the audio tokens. A
language layer that has a vision and an audio level gets both in one addition, each at its own positions.

Every audio is encoded alone: the encoder pads the parts of an audio to the longest of the batch, and its convolutions
let that padding reach the last token of a shorter one, so in a batch the same audio would give other numbers.

Positions: an audio token counts as a text token. A frame group of a video has Qwen3-VL's grid positions, which begin
where the tokens before it end; so positions follow the interleaving of a video with its sound.

Names of the weights, which checkpoints and the vLLM side rely on:

    model.language_model.*                                  as in Qwen3-VL
    model.visual.*                                          as in Qwen3-VL (deepstack_merger_list included)
    model.audio_tower.{conv2d1,conv2d2,conv2d3}.{weight,bias}
    model.audio_tower.conv_out.weight
    model.audio_tower.layers.{i}.*                          as in Qwen3-Omni's audio_tower
    model.audio_tower.ln_post.{weight,bias}
    model.audio_tower.{proj1,proj2}.{weight,bias}           the aligner: d_model → d_model → hidden_size
    model.audio_tower.deepstack_merger_list.{level}.proj1.{weight,bias}      d_model → d_model
    model.audio_tower.deepstack_merger_list.{level}.proj2.{weight,bias}      d_model → hidden_size
    lm_head.weight                                          absent where tied to the embedding
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers.models.qwen3_vl.modeling_qwen3_vl import (
    Qwen3VLForConditionalGeneration,
    Qwen3VLModel,
    Qwen3VLModelOutputWithPast,
)

from .audio_encoder import TLiveOmniAudioEncoder
from .configuration import TLiveOmniConfig
from .media_placement import MediaFeatures, place_media

IMAGE_TYPE = 1
VIDEO_TYPE = 2
"""What `mm_token_type_ids` hold for image and video tokens; everything else is placed like text."""


class TLiveOmniModel(Qwen3VLModel):  # type: ignore[misc]
    """Qwen3-VL's model with an audio tower: placeholders of images, videos and audios become what their towers see."""

    config_class = TLiveOmniConfig
    input_modalities = ("image", "video", "audio", "text")

    def __init__(self, config: TLiveOmniConfig) -> None:
        super().__init__(config)
        self.audio_tower = TLiveOmniAudioEncoder(config.audio_config, config.audio_deepstack_layer_indexes)
        self.post_init()

    def get_audio_features(self, input_features: Tensor, feature_attention_mask: Tensor) -> MediaFeatures:
        """Encode audios, each alone.

        Args:
            input_features: Log-mel frames, (audios, mel bins, frames), padded at the end.
            feature_attention_mask: 1 where a frame is one of the audio, (audios, frames).
        """
        dtype = self.audio_tower.conv2d1.weight.dtype
        encoded = [
            self.audio_tower.encode(features[:, :frames].to(dtype))
            for features, frames in zip(input_features, feature_attention_mask.sum(-1).tolist(), strict=True)
        ]
        levels = zip(*(levels for _, levels in encoded), strict=True)
        return MediaFeatures(
            self.config.audio_token_id,
            torch.cat([embeddings for embeddings, _ in encoded]),
            tuple(torch.cat(level) for level in levels),
        )

    def get_rope_index(
        self, input_ids: Tensor, mm_token_type_ids: Tensor | None = None, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Positions in time, height and width, (3, batch, length), and what to add to a text position after them.

        As in Qwen3-VL, with audio placed like text.

        Args:
            input_ids: (batch, length).
            mm_token_type_ids: Kind of each token, (batch, length); see `IMAGE_TYPE` and `VIDEO_TYPE`.
            **kwargs: `image_grid_thw`, `video_grid_thw`, `attention_mask`, as Qwen3-VL takes them.

        Raises:
            ValueError: `mm_token_type_ids` is missing.
        """
        if mm_token_type_ids is None:
            raise ValueError("mm_token_type_ids is missing; pass what the processor returned beside input_ids")
        placed_like_text = mm_token_type_ids > VIDEO_TYPE
        types = mm_token_type_ids.masked_fill(placed_like_text, 0)
        positions: tuple[Tensor, Tensor] = super().get_rope_index(input_ids, mm_token_type_ids=types, **kwargs)
        return positions

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Any = None,
        inputs_embeds: Tensor | None = None,
        pixel_values: Tensor | None = None,
        pixel_values_videos: Tensor | None = None,
        image_grid_thw: Tensor | None = None,
        video_grid_thw: Tensor | None = None,
        mm_token_type_ids: Tensor | None = None,
        mm_encoder_outputs: Mapping[str, Any] | None = None,
        input_features: Tensor | None = None,
        feature_attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> Qwen3VLModelOutputWithPast:
        """Run the towers and the language model.

        Args:
            input_ids: (batch, length); needed where media are given.
            attention_mask: As in Qwen3-VL.
            position_ids: As in Qwen3-VL; computed where absent.
            past_key_values: Key-value cache.
            inputs_embeds: In place of `input_ids`, for text alone.
            pixel_values: Patches of all images.
            pixel_values_videos: Patches of all videos.
            image_grid_thw: Patch grid of each image, (images, 3).
            video_grid_thw: Patch grid of each video, (videos, 3).
            mm_token_type_ids: Kind of each token, needed where images or videos are given.
            mm_encoder_outputs: Outputs of the vision tower computed before, by `image` and `video`.
            input_features: Log-mel frames of all audios, (audios, mel bins, frames).
            feature_attention_mask: Which frames are no padding, (audios, frames).
            **kwargs: For the language model.

        Raises:
            ValueError: Inputs contradict each other, or placeholders and features differ in number.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give either input_ids or inputs_embeds")
        media = self._vision_features(
            pixel_values, image_grid_thw, pixel_values_videos, video_grid_thw, mm_encoder_outputs or {}
        )
        if input_features is not None:
            if feature_attention_mask is None:
                raise ValueError("input_features without feature_attention_mask: the lengths of the audios are unknown")
            media.append(self.get_audio_features(input_features, feature_attention_mask))
        embeddings = inputs_embeds if input_ids is None else self.get_input_embeddings()(input_ids)
        mask, levels = None, None
        if media:
            if input_ids is None:
                raise ValueError("media need input_ids: their placeholders cannot be found in inputs_embeds")
            embeddings, mask, levels = place_media(input_ids, embeddings, media)

        if position_ids is None:
            self._forget_positions_of_another_prompt(past_key_values, image_grid_thw, video_grid_thw)
            position_ids = self.compute_3d_position_ids(
                input_ids=input_ids,
                inputs_embeds=embeddings,
                image_grid_thw=image_grid_thw,
                video_grid_thw=video_grid_thw,
                attention_mask=attention_mask,
                past_key_values=past_key_values,
                mm_token_type_ids=mm_token_type_ids,
            )
        outputs = self.language_model(
            input_ids=None,
            inputs_embeds=embeddings,
            position_ids=position_ids,
            attention_mask=attention_mask,
            past_key_values=past_key_values,
            visual_pos_masks=mask,
            deepstack_visual_embeds=levels,
            **kwargs,
        )
        return Qwen3VLModelOutputWithPast(**outputs, rope_deltas=self.rope_deltas)

    def _vision_features(
        self,
        pixel_values: Tensor | None,
        image_grid_thw: Tensor | None,
        pixel_values_videos: Tensor | None,
        video_grid_thw: Tensor | None,
        computed: Mapping[str, Any],
    ) -> list[MediaFeatures]:
        outputs = dict(computed)
        if pixel_values is not None:
            outputs["image"] = self.get_image_features(pixel_values, image_grid_thw, return_dict=True)
        if pixel_values_videos is not None:
            outputs["video"] = self.get_video_features(pixel_values_videos, video_grid_thw, return_dict=True)
        token_ids = {"image": self.config.image_token_id, "video": self.config.video_token_id}
        return [
            MediaFeatures(
                token_id,
                torch.cat(list(outputs[kind].pooler_output)),
                tuple(torch.cat(list(level)) for level in outputs[kind].deepstack_features),
            )
            for kind, token_id in token_ids.items()
            if outputs.get(kind) is not None
        ]

    def _forget_positions_of_another_prompt(
        self, past_key_values: Any, image_grid_thw: Tensor | None, video_grid_thw: Tensor | None
    ) -> None:
        """A prompt without vision counts positions like text; Qwen3-VL would go on from the last one that had some."""
        begins = past_key_values is None or past_key_values.get_seq_length() == 0
        if begins and image_grid_thw is None and video_grid_thw is None:
            self.rope_deltas = None


class TLiveOmniForConditionalGeneration(Qwen3VLForConditionalGeneration):  # type: ignore[misc]
    """TLiveOmni with its language head."""

    config_class = TLiveOmniConfig
    input_modalities = ("image", "video", "audio", "text")

    def __init__(self, config: TLiveOmniConfig) -> None:
        # Not Qwen3-VL's own __init__, which would build its model first.
        super(Qwen3VLForConditionalGeneration, self).__init__(config)
        self.model = TLiveOmniModel(config)
        self.lm_head = nn.Linear(config.text_config.hidden_size, config.text_config.vocab_size, bias=False)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Any = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        pixel_values: Tensor | None = None,
        pixel_values_videos: Tensor | None = None,
        image_grid_thw: Tensor | None = None,
        video_grid_thw: Tensor | None = None,
        mm_token_type_ids: Tensor | None = None,
        logits_to_keep: int | Tensor = 0,
        mm_encoder_outputs: Mapping[str, Any] | None = None,
        input_features: Tensor | None = None,
        feature_attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        """Logits, and the loss where `labels` are given; arguments as in `TLiveOmniModel.forward` and Qwen3-VL."""
        return super().forward(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=past_key_values,
            inputs_embeds=inputs_embeds,
            labels=labels,
            pixel_values=pixel_values,
            pixel_values_videos=pixel_values_videos,
            image_grid_thw=image_grid_thw,
            video_grid_thw=video_grid_thw,
            mm_token_type_ids=mm_token_type_ids,
            logits_to_keep=logits_to_keep,
            mm_encoder_outputs=mm_encoder_outputs,
            input_features=input_features,
            feature_attention_mask=feature_attention_mask,
            **kwargs,
        )
