"""From a task's `generation_kwargs` to sampling parameters: greedy unless the task says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tliveomni_eval.evals.errors import UserError, unknown_name_message

DEFAULT_MAX_NEW_TOKENS = 512

_PASSED_ON = {"top_p": float, "top_k": int, "min_p": float, "repetition_penalty": float, "presence_penalty": float,
              "frequency_penalty": float, "seed": int}  # fmt: skip
_WITHOUT_EFFECT = ("num_beams", "use_cache", "num_return_sequences", "image_aspect_ratio")
_KNOWN = ("max_new_tokens", "temperature", "do_sample", "until", *_PASSED_ON, *_WITHOUT_EFFECT)


@dataclass(frozen=True, slots=True)
class Decoding:
    """How an answer is decoded.

    Attributes:
        max_tokens: Most tokens of an answer.
        temperature: 0 is greedy.
        stop: Texts that end an answer and are not part of it.
        other: Further sampling parameters by vLLM's names.
    """

    max_tokens: int
    temperature: float
    stop: tuple[str, ...]
    other: Mapping[str, Any]

    def as_sampling_arguments(self) -> dict[str, Any]:
        """Keyword arguments of vLLM's `SamplingParams`."""
        return {"max_tokens": self.max_tokens, "temperature": self.temperature, "stop": list(self.stop), **self.other}


def decoding_from_generation_kwargs(given: Mapping[str, Any]) -> Decoding:
    """Read a task's generation settings.

    Args:
        given: `generation_kwargs` of a task; `until` may be a text, a list or None.

    Raises:
        UserError: A setting is unknown or out of range.
    """
    for key in given:
        if key not in _KNOWN:
            raise UserError("generation_kwargs: " + unknown_name_message("key", key, list(_KNOWN)))
    until = given.get("until") or []
    stop = tuple(text for text in ([until] if isinstance(until, str) else until) if text)
    temperature = float(given.get("temperature") or 0.0)
    if given.get("do_sample") is False:
        temperature = 0.0
    max_tokens = int(given.get("max_new_tokens") or DEFAULT_MAX_NEW_TOKENS)
    if temperature < 0 or max_tokens < 1:
        raise UserError(f"generation_kwargs: temperature={temperature} must be ≥ 0 and max_new_tokens={max_tokens} ≥ 1")
    other = {key: kind(given[key]) for key, kind in _PASSED_ON.items() if given.get(key) is not None}
    if temperature == 0.0:
        other = {key: value for key, value in other.items() if key not in ("top_p", "top_k", "min_p")}
    return Decoding(max_tokens, temperature, stop, other)
