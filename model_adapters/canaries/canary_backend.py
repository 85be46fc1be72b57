"""What canaries need of a backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt


@dataclass(frozen=True, slots=True)
class CanaryAnswer:
    """An answer to a canary's request.

    Attributes:
        text: The answer.
        prompt_tokens: Tokens of the prompt by kind, as the engine has them: `all`, and each kind of media.
        was_cut: Whether the answer would have gone on.
    """

    text: str
    prompt_tokens: Mapping[str, int]
    was_cut: bool = False

    def beside(self, answer: str) -> tuple[str, str]:
        """An answer of the run and this one, as far as this one goes.

        Args:
            answer: Of the run.
        """
        # A character of several tokens may be cut in the middle.
        text = self.text.rstrip("\ufffd")
        return (answer[: len(text)] if self.was_cut else answer, text)


class CanaryBackend(Protocol):
    """A backend under test; the run was answered by the same one."""

    @property
    def media_kinds(self) -> frozenset[str]:
        """Kinds of media the checkpoint takes."""
        ...

    def prompt(self, messages: Sequence[Mapping[str, Any]]) -> ChatPrompt:
        """Build a prompt just as the run does."""
        ...

    def processor_tokens(self, prompt: ChatPrompt) -> Mapping[str, int] | None:
        """Tokens by kind that the checkpoint's own processor makes of a prompt; None where it cannot be asked."""
        ...

    def fits(self, prompt: ChatPrompt) -> bool:
        """Whether the context has room for a prompt, whose media are larger than those of its sample."""
        ...

    def ask(self, prompts: Sequence[tuple[ChatPrompt, Mapping[str, Any]]], at_a_time: int | None) -> list[CanaryAnswer]:
        """Answer prompts with their decoding, in this order.

        Args:
            prompts: Prompts with their sampling arguments.
            at_a_time: Requests inside the engine at a time; None for as many as in the run.
        """
        ...

    def forget_prefixes(self) -> None:
        """Empty the prefix cache."""
        ...

    def decoding_taken_over(self) -> Mapping[str, Any]:
        """Sampling defaults that the engine took from the checkpoint."""
        ...
