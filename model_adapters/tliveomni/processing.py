"""`TLiveOmniProcessor`: text, images, audios, videos, and videos with their own sound, to what the model takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers import BatchFeature, Qwen3VLProcessor
from transformers.audio_utils import make_list_of_audio
from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessorKwargs
from transformers.processing_utils import ProcessorMixin

from .audio_lengths import SAMPLING_RATE, frame_count, token_count
from .interleaving import MediaTokens, audio_tokens_of_groups, interleave, written_time

_NOT_FOR_THE_MODEL = ("video_metadata",)


class TLiveOmniProcessorKwargs(Qwen3VLProcessorKwargs, total=False):  # type: ignore[misc, call-arg]
    """Qwen3-VL's, and for audio: no padding and no cut before the features are extracted."""

    _defaults = {  # noqa: RUF012
        **Qwen3VLProcessorKwargs._defaults,
        "audio_kwargs": {
            "sampling_rate": SAMPLING_RATE,
            "padding": False,
            "truncation": False,
            "return_attention_mask": False,
        },
    }


class TLiveOmniProcessor(Qwen3VLProcessor):  # type: ignore[misc]
    """Qwen3-VL's processor that also takes audio.

    In the text, `<|image_pad|>`, `<|video_pad|>` and `<|audio_pad|>` each stand for the next image, video and audio.
    With `use_audio_in_video=True` each video also takes the next audio, as its own sound, and has no `<|audio_pad|>`;
    audio with a placeholder of its own may stand beside such videos, in the order of the text.

    Args:
        image_processor: Qwen3-VL's.
        feature_extractor: Whisper's, with as many mel bins as the audio encoder takes.
        tokenizer: Qwen's, with the tokens of vision and audio.
        video_processor: Qwen3-VL's.
        chat_template: Jinja template of the chat format.
    """

    valid_processor_kwargs = TLiveOmniProcessorKwargs

    def __init__(
        self,
        image_processor: Any = None,
        feature_extractor: Any = None,
        tokenizer: Any = None,
        video_processor: Any = None,
        chat_template: str | None = None,
    ) -> None:
        # Not Qwen3-VL's own __init__, which passes its three processors on by position.
        ProcessorMixin.__init__(
            self, image_processor, feature_extractor, tokenizer, video_processor, chat_template=chat_template
        )
        for name, text in (
            ("image_token", "<|image_pad|>"),
            ("video_token", "<|video_pad|>"),
            ("audio_token", "<|audio_pad|>"),
            ("vision_start_token", "<|vision_start|>"),
            ("vision_end_token", "<|vision_end|>"),
            ("audio_start_token", "<|audio_start|>"),
            ("audio_end_token", "<|audio_end|>"),
        ):
            setattr(self, name, text)
            setattr(self, f"{name}_id", _token_id(tokenizer, text))

    def __call__(
        self,
        images: Any = None,
        text: Any = None,
        videos: Any = None,
        audio: Any = None,
        use_audio_in_video: bool = False,
        **kwargs: Any,
    ) -> BatchFeature:
        """Prepare prompts with their media.

        Args:
            images: Images of all prompts, in the order of their placeholders.
            text: One prompt or several.
            videos: Videos of all prompts, as frames with `video_metadata`, or as transformers reads them.
            audio: Mono audios at 16 kHz of all prompts, each an array of samples.
            use_audio_in_video: Whether each video takes an audio as its own sound, interleaved by time.
            **kwargs: As Qwen3-VL's processor and its parts take them.

        Returns:
            What the model takes; audios as `input_features` (audios, mel bins, frames), with zeros after the shorter
            ones, and `feature_attention_mask` (audios, frames).

        Raises:
            ValueError: Text is missing, or placeholders and media differ in number, or the times of a video's frames
                are not known, or an audio is too short.
        """
        if text is None:
            raise ValueError("text is missing: the places of media are given by the placeholders in it")
        prompts = [text] if isinstance(text, str) else list(text)
        images, _, videos, audio = self.prepare_inputs_layout(images=images, videos=videos, audio=audio)
        merged = self._merge_kwargs(
            TLiveOmniProcessorKwargs, tokenizer_init_kwargs=self.tokenizer.init_kwargs, **kwargs
        )
        image_inputs = self.image_processor(images, **merged["images_kwargs"]) if images is not None else {}
        video_inputs = self.video_processor(videos, **merged["videos_kwargs"]) if videos is not None else {}
        audio_inputs = self._audio_inputs(audio, merged["audio_kwargs"]) if audio is not None else {}
        prompts = self._expanded(prompts, image_inputs, video_inputs, audio_inputs, use_audio_in_video)

        text_kwargs = dict(merged["text_kwargs"])
        return_tensors = text_kwargs.pop("return_tensors", None)
        with_types = text_kwargs.pop("return_mm_token_type_ids", True)
        text_kwargs.pop("return_text_replacement_offsets", None)
        text_inputs = self.tokenizer(prompts, **text_kwargs)
        self._check_special_mm_tokens(prompts, text_inputs, modalities=["image", "video", "audio"])
        if with_types:
            text_inputs["mm_token_type_ids"] = self.create_mm_token_type_ids(text_inputs["input_ids"])
        data = {**text_inputs, **image_inputs, **video_inputs, **audio_inputs}
        if not kwargs.get("return_metadata"):
            data = {name: value for name, value in data.items() if name not in _NOT_FOR_THE_MODEL}
        return BatchFeature(data, tensor_type=return_tensors, skip_tensor_conversion=list(_NOT_FOR_THE_MODEL))

    def replace_audio_token(self, audio_inputs: Any, audio_idx: int, **_: Any) -> str:
        """The placeholders of an audio that stands by itself.

        Args:
            audio_inputs: With `feature_attention_mask`.
            audio_idx: Which audio.
        """
        return str(self.audio_token) * _tokens_of_audio(audio_inputs, audio_idx)

    def replace_video_with_audio_token(self, video_inputs: Any, video_idx: int, audio_tokens: int) -> str:
        """The placeholders of a video and its sound, interleaved by time.

        Args:
            video_inputs: With `video_grid_thw` and `video_metadata`.
            video_idx: Which video.
            audio_tokens: Of its sound.

        Raises:
            ValueError: The times of its frames are not known.
        """
        metadata = video_inputs["video_metadata"][video_idx]
        if metadata.fps is None or metadata.frames_indices is None:
            raise ValueError(
                f"video {video_idx}: the times of its frames are not known, so its sound cannot be interleaved; "
                "pass video_metadata with fps and frames_indices"
            )
        _, height, width = (int(side) for side in video_inputs["video_grid_thw"][video_idx])
        seconds = self._calculate_timestamps(
            list(metadata.frames_indices), metadata.fps, self.video_processor.temporal_patch_size
        )
        sequence = interleave(
            [[written_time(time)] for time in seconds],
            height * width // self.video_processor.merge_size**2,
            audio_tokens_of_groups(seconds, audio_tokens),
            self.media_tokens,
        )
        return "".join(sequence)

    @property
    def media_tokens(self) -> MediaTokens[str]:
        """The tokens that media are written with, as text."""
        return MediaTokens(
            video=self.video_token,
            vision_start=self.vision_start_token,
            vision_end=self.vision_end_token,
            audio=self.audio_token,
            audio_start=self.audio_start_token,
            audio_end=self.audio_end_token,
        )

    @property
    def model_input_names(self) -> list[str]:
        """Names of what `__call__` may return for the model."""
        return [*dict.fromkeys([*super().model_input_names, "feature_attention_mask"])]

    def _audio_inputs(self, audio: Any, audio_kwargs: dict[str, Any]) -> dict[str, NDArray[Any]]:
        samples = [np.asarray(one, dtype=np.float32) for one in make_list_of_audio(audio)]
        for one in samples:
            if one.ndim != 1:
                raise ValueError(f"an audio must be mono, one number a sample; got the shape {one.shape}")
        frames = [frame_count(len(one)) for one in samples]
        # One by one: in a batch the feature extractor pads the samples, and what it then computes at the end differs.
        alone = {**audio_kwargs, "padding": False, "return_attention_mask": False, "return_tensors": "np"}
        extracted = [self.feature_extractor(one, **alone)["input_features"][0] for one in samples]
        features = np.zeros((len(samples), extracted[0].shape[0], max(frames)), dtype=np.float32)
        mask = np.zeros((len(samples), max(frames)), dtype=np.int64)
        for index, (one, length) in enumerate(zip(extracted, frames, strict=True)):
            features[index, :, :length] = one
            mask[index, :length] = 1
        return {"input_features": features, "feature_attention_mask": mask}

    def _expanded(
        self,
        prompts: Sequence[str],
        image_inputs: Any,
        video_inputs: Any,
        audio_inputs: Any,
        use_audio_in_video: bool,
    ) -> list[str]:
        images = iter(range(len(image_inputs.get("image_grid_thw", ()))))
        videos = iter(range(len(video_inputs.get("video_grid_thw", ()))))
        audios = iter(range(len(audio_inputs.get("feature_attention_mask", ()))))

        def expansion(match: re.Match[str]) -> str:
            token = match.group()
            if token == self.image_token:
                return str(self.replace_image_token(image_inputs, _next(images, "image")))
            if token == self.audio_token:
                return self.replace_audio_token(audio_inputs, _next(audios, "audio"))
            video = _next(videos, "video")
            if not use_audio_in_video:
                return str(self.replace_video_token(video_inputs, video))
            sound = _tokens_of_audio(audio_inputs, _next(audios, "video with sound (use_audio_in_video)"))
            return self.replace_video_with_audio_token(video_inputs, video, sound)

        any_token = re.compile("|".join(re.escape(token) for token in self.all_special_multimodal_tokens))
        expanded = [any_token.sub(expansion, prompt) for prompt in prompts]
        for kind, left in (("image", images), ("video", videos), ("audio", audios)):
            if unused := len(list(left)):
                raise ValueError(
                    f"{unused} {kind}{'s' if unused > 1 else ''} more than the text has places for; "
                    f"write {getattr(self, f'{kind}_token')!r} where each belongs"
                )
        return expanded


def _next(indexes: Iterator[int], kind: str) -> int:
    index = next(indexes, None)
    if index is None:
        raise ValueError(f"the text has a placeholder for one more {kind} than was given")
    return index


def _tokens_of_audio(audio_inputs: Any, index: int) -> int:
    return token_count(int(audio_inputs["feature_attention_mask"][index].sum()))


def _token_id(tokenizer: Any, text: str) -> int:
    token_id = tokenizer.convert_tokens_to_ids(text)
    if token_id is None or token_id == tokenizer.unk_token_id:
        raise ValueError(f"the tokenizer has no token {text!r}; TLiveOmni needs it")
    return int(token_id)
