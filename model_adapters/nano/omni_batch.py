"""A training batch of TLiveOmni: prompts exactly as they are given at evaluation, and the answers behind them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.transformers_backend.reference_model import processor_media
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import build_chat_prompt, media_parts
from tliveomni_eval.model_adapters.vllm_backend.media_settings import MediaSettings
from tliveomni_eval.tasks.video_file import has_sound

from .taught_samples import TaughtSample

IGNORED = -100
"""Label of a token that is not learnt."""
END_OF_TURN = "<|im_end|>"


def training_batch(samples: Sequence[TaughtSample], processor: Any, settings: MediaSettings) -> dict[str, Any]:
    """The batch of a few samples.

    Samples with the sound of a video and others do not mix: a processor interleaves for all of a batch or for none.

    Args:
        samples: At least one.
        processor: Of the model.
        settings: How media become part of a prompt; the same as at evaluation.

    Returns:
        What the model takes, padded on the right, with `labels` that cover answers and ends of turn.

    Raises:
        UserError: A medium cannot be read, or sounding videos and other prompts with videos are mixed.
    """
    prompts = [build_chat_prompt(sample.messages, processor, settings) for sample in samples]
    videos = [prompt for prompt in prompts if "video" in prompt.media]
    if len({bool(prompt.processor_kwargs.get("use_audio_in_video")) for prompt in videos}) > 1:
        raise UserError(
            f"samples {', '.join(sample.id for sample in samples)}: videos with sound and without are in one batch; "
            "group samples by `sounds` first"
        )
    media: dict[str, Any] = {}
    for arguments in map(processor_media, prompts):
        for name, value in arguments.items():
            media[name] = media[name] + value if isinstance(value, list) and name in media else value
    answers = [processor.tokenizer(sample.answer + END_OF_TURN)["input_ids"] for sample in samples]
    texts = [prompt.text + sample.answer + END_OF_TURN for prompt, sample in zip(prompts, samples, strict=True)]
    batch = processor(text=texts, padding=True, padding_side="right", return_tensors="pt", **media)
    labels = batch["input_ids"].new_full(batch["input_ids"].shape, IGNORED)
    for row, (ids, answer) in enumerate(zip(batch["input_ids"], answers, strict=True)):
        end = int(batch["attention_mask"][row].sum())
        start = end - len(answer)
        if ids[start:end].tolist() != answer:
            raise UserError(f"sample {samples[row].id}: its answer is split into other tokens behind the prompt")
        labels[row, start:end] = ids[start:end]
    return {**batch, "labels": labels}


def sounds(sample: TaughtSample, settings: MediaSettings) -> bool:
    """Whether a sample's prompt interleaves the sound of a video.

    Args:
        sample: What is to be learnt.
        settings: How media become part of a prompt.
    """
    videos = [part["url"] for part in media_parts(sample.messages) if part["type"] == "video"]
    return settings.use_audio_in_video and bool(videos) and all(has_sound(Path(video)) for video in videos)
