"""How many tokens of each kind the checkpoint's own processor makes of a prompt, to measure the engine by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loguru import logger
from tliveomni_eval.model_adapters.canaries.sentinels import KINDS
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt


def media_token_ids(processor: Any) -> dict[str, int]:
    """Kind of media to the id of its placeholder token; kinds that the processor does not know are not in it.

    Args:
        processor: The transformers processor of the checkpoint, or its tokenizer.
    """
    ids = {kind: getattr(processor, f"{kind}_token_id", None) for kind in KINDS}
    return {kind: number for kind, number in ids.items() if isinstance(number, int)}


def count_tokens(tokens: Sequence[int], media_ids: Mapping[str, int]) -> dict[str, int]:
    """Length of a prompt, and how many of its tokens stand for each kind of media.

    Args:
        tokens: The prompt.
        media_ids: Kind of media to the id of its placeholder token.
    """
    return {"all": len(tokens), **{kind: list(tokens).count(number) for kind, number in media_ids.items()}}


def processor_tokens(processor: Any, prompt: ChatPrompt, processor_kwargs: Mapping[str, Any]) -> dict[str, int] | None:
    """Ask the processor; None where it cannot be called for these media, which the log says.

    Args:
        processor: The transformers processor of the checkpoint, or its tokenizer.
        prompt: Rendered, with its media.
        processor_kwargs: What the run tells the processor beside the media of a prompt.
    """
    arguments: dict[str, Any] = {**processor_kwargs, **prompt.processor_kwargs}
    if images := prompt.media.get("image"):
        arguments["images"] = list(images)
    if videos := prompt.media.get("video"):
        arguments["videos"] = [frames for frames, _ in videos]
        arguments["video_metadata"] = [
            {key: value for key, value in about.items() if key != "do_sample_frames"} for _, about in videos
        ]
        arguments["do_sample_frames"] = False
    if audios := prompt.media.get("audio"):
        arguments["audio"] = [samples for samples, _ in audios]
    try:
        tokens = processor(text=[prompt.text], **arguments)["input_ids"][0]
    except Exception as error:
        logger.info(f"canary: the processor cannot be asked for its tokens: {type(error).__name__}: {error}")
        return None
    return count_tokens([int(token) for token in tokens], media_token_ids(processor))
