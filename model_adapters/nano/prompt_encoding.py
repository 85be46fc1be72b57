"""Token ids of a chat with one image, split at the image: the prefix, the image tokens, the tail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class EncodedTail:
    """What follows the image's tokens.

    Attributes:
        ids: Question, turn markers, answer and end of turn.
        answer_start: Index of the first answer token; the loss covers `ids[answer_start:]`.
    """

    ids: tuple[int, ...]
    answer_start: int

    def padded(self, length: int) -> NDArray[np.int16]:
        """The ids padded on the right with 0 (padding is never attended to, being last).

        Raises:
            ValueError: If the ids are longer.
        """
        if len(self.ids) > length:
            raise ValueError(f"{len(self.ids)} tokens do not fit into {length}")
        row = np.zeros(length, dtype=np.int16)
        row[: len(self.ids)] = self.ids
        return row


@dataclass
class PromptEncoder:
    """Encodes prompts as the checkpoint's chat template and processor do.

    Attributes:
        tokenizer: The `tokenizers.Tokenizer`.
    """

    tokenizer: Any
    _questions: dict[str, list[int]] = field(default_factory=dict)

    def _encode(self, text: str) -> list[int]:
        return [int(token) for token in self.tokenizer.encode(text, add_special_tokens=False).ids]

    @property
    def prefix_ids(self) -> list[int]:
        """Ids before the first image token."""
        return self._encode("<|im_start|>user\n<|vision_start|>")

    @property
    def end_id(self) -> int:
        """Id of `<|im_end|>`, which ends every answer."""
        return int(self.tokenizer.token_to_id("<|im_end|>"))

    def question_ids(self, prompt: str) -> list[int]:
        """Ids from the end of the image to the start of the answer."""
        if prompt not in self._questions:
            self._questions[prompt] = self._encode(f"<|vision_end|>{prompt}<|im_end|>\n<|im_start|>assistant\n")
        return self._questions[prompt]

    def encode(self, prompt: str, answer: str) -> EncodedTail:
        """Ids of question and answer."""
        question = self.question_ids(prompt)
        return EncodedTail((*question, *self._encode(answer), self.end_id), len(question))

    def decode(self, ids: Sequence[int]) -> str:
        """Text of generated ids, up to the end of the turn."""
        chosen = list(ids)
        if self.end_id in chosen:
            chosen = chosen[: chosen.index(self.end_id)]
        return str(self.tokenizer.decode(chosen, skip_special_tokens=True))
