"""The prompt of a multiple-choice question, for official and for generated ones alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

_INSTRUCTIONS = {
    "en": "Answer with the option's letter from the given choices directly.",
    "zh": "请直接使用所提供的选项字母作为答案回答。",
}


def choice_prompt(question: str, options: Mapping[str, str], lang: Literal["en", "zh"], hint: str = "") -> str:
    """Hint, question, options one a line, and what form the answer has.

    Args:
        question: The question.
        options: Letter to text, in the order in which they are shown.
        lang: Language of the instruction.
        hint: Stands before the question; empty where there is none.
    """
    lines = [hint] if hint else []
    lines += [question, *(f"{letter}. {text}" for letter, text in options.items()), _INSTRUCTIONS[lang]]
    return "\n".join(lines)
