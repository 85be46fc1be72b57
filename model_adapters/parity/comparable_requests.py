"""Which samples of a task a side answers: those that the checkpoint can take, and that the other side took too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lmms_eval.api.instance import GenerationResult, Instance
from tliveomni_eval.model_adapters.parity.token_scores import SideRecord, modality_of
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt, media_parts
from tliveomni_eval.model_adapters.vllm_backend.decoding import Decoding
from tliveomni_eval.model_adapters.vllm_backend.sample_counts import SampleCounts


def sample_key(request: Instance) -> tuple[str, int]:
    """Task and document number of a request.

    Args:
        request: Of lmms-eval.
    """
    _, _, _, document, task, _ = request.args
    return str(task), int(document)


def not_taken(request: Instance, messages: Any, taken: frozenset[str]) -> SideRecord | None:
    """Why a request cannot be compared; None where it can.

    Args:
        request: Of lmms-eval.
        messages: Its chat messages.
        taken: Kinds of media that the checkpoint takes.
    """
    kinds = {part["type"] for part in media_parts(messages)}
    if not (lacking := sorted(kinds - taken)):
        return None
    task, document = sample_key(request)
    reason = f"the checkpoint does not take {' and '.join(lacking)}"
    return SideRecord(task=task, document=document, modality=modality_of(kinds, False), reason=reason)


def prompt_modality(prompt: ChatPrompt) -> str:
    """The modality of a prompt with its media.

    Args:
        prompt: As both sides get it.
    """
    sounding = bool(prompt.processor_kwargs.get("use_audio_in_video"))
    counts = {kind: len(items) for kind, items in prompt.media.items()}
    if sounding and counts.get("audio", 0) <= counts.get("video", 0):
        counts.pop("audio", None)
    return modality_of(counts, sounding)


def greedy(decoding: Decoding, max_new_tokens: int) -> Decoding:
    """A decoding made greedy and no longer than a limit: neither chance nor penalties stand between the two sides.

    Args:
        decoding: As the task wants it.
        max_new_tokens: Most tokens of an answer.
    """
    return replace(decoding, max_tokens=min(decoding.max_tokens, max_new_tokens), temperature=0.0, other={})


def answer_comparable(
    requests: Sequence[Instance],
    skipped: Mapping[int, SideRecord],
    answer: Callable[[list[Instance]], list[GenerationResult]],
) -> list[GenerationResult]:
    """Answer requests but for some, which get an empty answer: lmms-eval wants one of each.

    Args:
        requests: Of lmms-eval.
        skipped: Index of those that are not answered.
        answer: Answers the others, in their order.
    """
    others = [request for index, request in enumerate(requests) if index not in skipped]
    results = iter(answer(others) if others else [])
    empty = GenerationResult(text="", token_counts=SampleCounts(0, 0, ()))
    return [empty if index in skipped else next(results) for index in range(len(requests))]
