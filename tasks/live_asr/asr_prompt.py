"""The question of live_asr."""

from __future__ import annotations

from collections.abc import Sequence

from tliveomni_eval.evals.text.tokens import Language

_CHINESE = "逐字转写这段直播录音，只输出转写的文字，不要解释。型号连写，字母大写，例如 AB12。"
_CHINESE_WORDS = "其中可能出现这些词：{words}。"
_ENGLISH = (
    "Transcribe this recording of a live stream word for word. Answer only with the transcript. "
    "Write product codes together in capitals, for example AB12."
)
_ENGLISH_WORDS = " These words may occur: {words}."


def asr_prompt(lang: Language, hotwords: Sequence[str]) -> str:
    """The task's own prompt: English for English, Chinese for Chinese and mixed speech.

    Args:
        lang: Language of the speech.
        hotwords: Words that may be said, in the order they are to be listed.
    """
    if lang == "en":
        return _ENGLISH + (_ENGLISH_WORDS.format(words=", ".join(hotwords)) if hotwords else "")
    return _CHINESE + (_CHINESE_WORDS.format(words="、".join(hotwords)) if hotwords else "")
