"""From a request's prompt and media to token ids, tensors and the places of the media, in three stages.

1. Data processing, `tlive_process`: images, videos and audios to tensors, as the transformers processor makes them.
2. Placeholder and expansion, `get_placeholder_str` (of the model) and `_get_prompt_updates`: a medium stands in a
   prompt as one placeholder, which becomes as many tokens as the medium has.
3. Mapping, `_maybe_apply_prompt_updates`: the expansions enter the prompt. A video and its sound are interleaved here
   and not in the video's own expansion: vLLM caches that by the video alone and would give it back with another sound.

A video and its sound share one range of the prompt, and the tokens of each are told by a mask. vLLM takes ranges for
disjoint in two places, and both go wrong silently. The ranges must have the same ends, or a step of chunked prefill
that begins near the end of one misses the other. And the prefix cache keys a block by the first medium alone that it
lies in, so the identity of a video with sound must be that of both (`_with_joint_identity`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from tliveomni_eval.model_adapters.tliveomni.audio_lengths import token_count
from tliveomni_eval.model_adapters.tliveomni.interleaving import (
    MediaTokens,
    audio_tokens_of_groups,
    interleave,
    written_time,
)
from tliveomni_eval.model_adapters.tliveomni_vllm.audio_features import extract_audio_features
from tliveomni_eval.model_adapters.tliveomni_vllm.media_pairing import MediaPairing, pair_media
from tliveomni_eval.model_adapters.tliveomni_vllm.vllm_0_26 import ProcessorHooks026, has_hooks_of_0_26
from transformers import BatchFeature
from vllm.model_executor.models.qwen3_vl import Qwen3VLMultiModalProcessor
from vllm.multimodal.inputs import MultiModalFieldConfig
from vllm.multimodal.parse import AudioProcessorItems, MultiModalDataItems
from vllm.multimodal.processing import PromptReplacement, PromptUpdate, PromptUpdateDetails

USE_AUDIO_IN_VIDEO = "use_audio_in_video"
"""Key of `mm_processor_kwargs`: each video of the request takes the next audio as its own sound."""


@dataclass
class VideoExpansion(PromptUpdateDetails):  # type: ignore[misc]
    """What takes the place of a silent video's placeholder, and what is needed to interleave it with a sound.

    Attributes:
        seconds: Written time of each frame group.
        tokens_a_group: Video tokens of a frame group.
    """

    seconds: tuple[float, ...] = ()
    tokens_a_group: int = 0


class TLiveOmniMultiModalProcessor(Qwen3VLMultiModalProcessor):  # type: ignore[misc]
    """Qwen3-VL's, with audio and videos that have a sound."""

    def apply(self, inputs: Any, timing_ctx: Any) -> Any:
        """Process one request.

        Args:
            inputs: Prompt and media.
            timing_ctx: vLLM's.

        Raises:
            ValueError: Placeholders and media differ in number, a medium is unusable, or a video with its sound has
                more tokens than the engine could ever hold.
        """
        pairing = pair_media(
            self._token_ids_of(inputs.prompt),
            self._placeholders,
            inputs.mm_data_items.get_all_counts(),
            bool(inputs.hf_processor_mm_kwargs.get(USE_AUDIO_IN_VIDEO, False)),
        )
        if pairing.interleaved:
            inputs = self._with_joint_identity(inputs, pairing)
        return super().apply(inputs, timing_ctx)

    def tlive_process(self, mm_items: Any, kwargs: Mapping[str, object]) -> BatchFeature:
        """Stage 1: tensors of the media.

        Args:
            mm_items: Media of each kind.
            kwargs: `mm_processor_kwargs` of the request.

        Returns:
            Qwen3-VL's tensors of images and videos, and `input_audio_features` (mel bins, frames of all audios) with
            `audio_feature_lengths` (audios).
        """
        vision = MultiModalDataItems({kind: items for kind, items in mm_items.items() if kind != "audio"})
        data = BatchFeature(dict(self._process_vision(vision, _without_audio_switch(kwargs))))
        if "audio" in mm_items:
            audios = mm_items.get_items("audio", AudioProcessorItems)
            data["input_audio_features"], data["audio_feature_lengths"] = extract_audio_features(
                self.info.get_feature_extractor(),
                [audios.get(index) for index in range(len(audios))],
                self.info.alignments.unpadded_audio,
            )
        return data

    def _process_vision(self, items: Any, kwargs: Mapping[str, object]) -> Mapping[str, Any]:
        processed: Mapping[str, Any] = super()._apply_hf_processor_main(mm_items=items, hf_kwargs=kwargs)
        return processed

    def _apply_hf_processor_main(self, mm_items: Any, hf_kwargs: Mapping[str, object]) -> BatchFeature:
        return self.tlive_process(mm_items, hf_kwargs)

    def _get_mm_fields_config(
        self, hf_inputs: BatchFeature, hf_processor_mm_kwargs: Mapping[str, object]
    ) -> Mapping[str, MultiModalFieldConfig]:
        lengths = hf_inputs.get("audio_feature_lengths", torch.empty(0, dtype=torch.long))
        return {
            **super()._get_mm_fields_config(hf_inputs, hf_processor_mm_kwargs),
            "input_audio_features": MultiModalFieldConfig.flat_from_sizes("audio", lengths, dim=1),
            "audio_feature_lengths": MultiModalFieldConfig.batched("audio", keep_on_cpu=True),
        }

    def _get_prompt_updates(
        self, mm_items: Any, hf_processor_mm_kwargs: Mapping[str, Any], out_mm_kwargs: Any
    ) -> Sequence[PromptUpdate]:
        """Stage 2: what takes the place of each placeholder; of a video as if it were silent."""
        ids = self._placeholders
        merged_patches = self.info.get_hf_config().vision_config.spatial_merge_size ** 2

        def image(index: int) -> list[int]:
            grid = out_mm_kwargs["image"][index]["image_grid_thw"].data
            return [ids["image"]] * (int(grid.prod()) // merged_patches)

        def audio(index: int) -> list[int]:
            frames = out_mm_kwargs["audio"][index]["audio_feature_lengths"].data
            return [ids["audio"]] * token_count(int(frames))

        def video(index: int) -> VideoExpansion:
            item = out_mm_kwargs["video"][index]
            _, height, width = item["video_grid_thw"].data.tolist()
            seconds = tuple(float(time) for time in item["timestamps"].data)
            return self._video_expansion(seconds, height * width // merged_patches, audio_tokens=0)

        replacements = {"image": image, "video": video, "audio": audio}
        return [PromptReplacement(kind, [ids[kind]], replacement) for kind, replacement in replacements.items()]

    def _maybe_apply_prompt_updates(self, mm_items: Any, mm_res: Any) -> tuple[list[int], Mapping[str, list[Any]]]:
        """Stage 3: the expanded prompt, and where each medium stands in it."""
        return self.map_media(mm_items.get_all_counts(), mm_res.prompt_ids, mm_res.kwargs, mm_res.prompt_updates)

    def map_media(
        self, counts: Mapping[str, int], prompt_ids: list[int], mm_kwargs: Any, updates: Mapping[str, Any]
    ) -> tuple[list[int], Mapping[str, list[Any]]]:
        """Put the expansions into a prompt.

        Args:
            counts: Media of each kind.
            prompt_ids: Token ids, one placeholder a medium.
            mm_kwargs: Tensors of the media.
            updates: Expansion of each medium.

        Returns:
            The token ids, and for each kind the range and mask of each of its media.

        Raises:
            ValueError: A video with its sound has more tokens than the engine could ever hold.
        """
        self._validate_mm_kwargs(mm_kwargs, counts)
        self._validate_mm_updates(updates, counts)
        pairing = pair_media(prompt_ids, self._placeholders, counts)
        if not pairing.interleaved:
            ids, placeholders = self._apply_prompt_updates(prompt_ids, updates)
        else:
            ids, placeholders = self._apply_prompt_updates(prompt_ids, self._interleaved(updates, pairing))
            placeholders = self._with_sounds(placeholders, pairing)
        self._validate_mm_placeholders(placeholders, counts)
        return ids, placeholders

    def _interleaved(self, updates: Mapping[str, Any], pairing: MediaPairing) -> dict[str, Any]:
        """The expansions in which each video holds its sound, and only the other audios stand by themselves."""
        limit = self.info.joint_token_limit()
        videos = []
        for (video,), sound in zip(updates["video"], pairing.sounds, strict=True):
            silent: VideoExpansion = video.content
            heard = len(updates["audio"][sound][0].content.full)
            seen = silent.tokens_a_group * len(silent.seconds)
            if seen + heard > limit:
                raise ValueError(
                    f"a video of {seen} tokens with a sound of {heard} is more than the {limit} tokens that the engine "
                    "can hold of a video and its sound at once; give fewer or smaller frames, or a shorter part"
                )
            content = self._video_expansion(silent.seconds, silent.tokens_a_group, heard)
            videos.append([replace(video, content=content)])
        alone = [
            [replace(updates["audio"][index][0], item_idx=position)] for position, index in enumerate(pairing.alone)
        ]
        rest = {kind: items for kind, items in updates.items() if kind not in ("video", "audio")}
        return {**rest, "video": videos, **({"audio": alone} if alone else {})}

    def _with_sounds(self, placeholders: Mapping[str, list[Any]], pairing: MediaPairing) -> dict[str, list[Any]]:
        audios = {}
        for index, place in zip(pairing.alone, placeholders.get("audio", []), strict=True):
            audios[index] = replace(place, item_idx=index)
        for index, video in zip(pairing.sounds, placeholders["video"], strict=True):
            is_embed = torch.tensor(video.tokens) == self._placeholders["audio"]
            audios[index] = replace(video, modality="audio", item_idx=index, is_embed=is_embed)
        return {**placeholders, "audio": [audios[index] for index in sorted(audios)]}

    def _video_expansion(self, seconds: tuple[float, ...], tokens_a_group: int, audio_tokens: int) -> VideoExpansion:
        tokenizer = self.info.get_tokenizer()
        times = [tokenizer.encode(written_time(time), add_special_tokens=False) for time in seconds]
        heard = audio_tokens_of_groups(seconds, audio_tokens)
        full = interleave(times, tokens_a_group, heard, self._media_tokens)
        video = self._placeholders["video"]

        def is_video(*arguments: Any) -> torch.Tensor:
            # vLLM 0.26 passes the tokenizer first.
            return torch.tensor(arguments[-1]) == video

        return VideoExpansion(full, is_video, seconds, tokens_a_group)

    def _with_joint_identity(self, inputs: Any, pairing: MediaPairing) -> Any:
        """The request with the identity of each video made that of video and sound, and so its sound's."""
        hashes = self._content_hashes(inputs)
        videos, audios = list(hashes["video"]), list(hashes["audio"])
        for video, audio in enumerate(pairing.sounds):
            joint = f"{hashes['video'][video]}+{hashes['audio'][audio]}"
            videos[video], audios[audio] = f"video:{joint}", f"audio:{joint}"
        identities = {**(inputs.mm_uuid_items or {}), "video": videos, "audio": audios}
        return replace(inputs, mm_uuid_items=identities)

    def _content_hashes(self, inputs: Any) -> Mapping[str, list[str]]:
        hashes: Mapping[str, list[str]] = self._get_mm_hashes(inputs)
        return hashes

    def _token_ids_of(self, prompt: str | list[int]) -> list[int]:
        if isinstance(prompt, str):
            ids: list[int] = self.info.get_tokenizer().encode(prompt, add_special_tokens=False)
            return ids
        return prompt

    @property
    def _placeholders(self) -> dict[str, int]:
        config = self.info.get_hf_config()
        return {"image": config.image_token_id, "video": config.video_token_id, "audio": config.audio_token_id}

    @property
    def _media_tokens(self) -> MediaTokens[int]:
        config = self.info.get_hf_config()
        return MediaTokens(
            video=config.video_token_id,
            vision_start=config.vision_start_token_id,
            vision_end=config.vision_end_token_id,
            audio=config.audio_token_id,
            audio_start=config.audio_start_token_id,
            audio_end=config.audio_end_token_id,
        )


class TLiveOmniMultiModalProcessor026(ProcessorHooks026, TLiveOmniMultiModalProcessor):  # type: ignore[misc]
    """The processor as vLLM 0.26 calls it."""


def processor_of_this_vllm() -> type[TLiveOmniMultiModalProcessor]:
    """The processor whose hooks are those of the installed vLLM."""
    return TLiveOmniMultiModalProcessor026 if has_hooks_of_0_26() else TLiveOmniMultiModalProcessor


def _without_audio_switch(kwargs: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in kwargs.items() if key != USE_AUDIO_IN_VIDEO}
