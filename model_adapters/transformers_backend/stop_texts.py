"""Texts that end an answer (`until`), as vLLM treats them: the answer ends where one begins, and does not hold it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

_TOKENS_BEFORE = 8
"""Tokens that are decoded beside those that can hold a stop text, so that characters of several tokens are whole."""


class StopTexts:
    """Ends generation once the answer holds a stop text; one prompt at a time.

    Args:
        decode: From tokens of an answer to its text.
        texts: Stop texts, none empty.
        prompt_length: Tokens of the prompt.
    """

    def __init__(self, decode: Callable[[Sequence[int]], str], texts: Sequence[str], prompt_length: int) -> None:
        self._decode = decode
        self._texts = tuple(texts)
        self._prompt_length = prompt_length
        self._longest = max(map(len, texts), default=0)

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        """Whether to end, as a transformers `StoppingCriteria`: (1,) truth values.

        Args:
            input_ids: (1, tokens) of prompt and answer.
            scores: Unused.
        """
        import torch

        answer = input_ids[0, self._prompt_length :].tolist()
        # A token holds at least one byte, and a character of a stop text at most four.
        end = self._decode(answer[-(4 * self._longest + _TOKENS_BEFORE) :])
        found = any(text in end for text in self._texts)
        return torch.full((input_ids.shape[0],), found, dtype=torch.bool, device=input_ids.device)

    def cut(self, text: str) -> tuple[str, bool]:
        """An answer up to the first stop text, and whether there is one.

        Args:
            text: The whole answer.
        """
        places = [place for stop in self._texts if (place := text.find(stop)) >= 0]
        return (text[: min(places)], True) if places else (text, False)
