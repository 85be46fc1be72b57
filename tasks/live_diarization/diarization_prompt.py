"""The question of live_diarization and the output format it declares."""

from __future__ import annotations

from tliveomni_eval.evals.text.tokens import Language

_EXAMPLE = '[{"speaker": "S1", "start": 0.4, "end": 2.1, "text": "…"}]'
_CHINESE = (
    "这段直播录音里有一位或几位说话人。按开始时间的先后列出每一段话：说话人（S1、S2……，同一个人编号相同）、"
    f"开始和结束时间（秒）、逐字转写的文字。只输出 JSON 数组，例如 {_EXAMPLE}"
)
_ENGLISH = (
    "One or more people speak in this recording of a live stream. List their turns by start time: the speaker (S1, S2, "
    "…, one number for one person), start and end in seconds, and the words. Answer only with a JSON array, "
    f"for example {_EXAMPLE}"
)


def diarization_prompt(lang: Language) -> str:
    """The task's own prompt: English for English, Chinese for Chinese and mixed speech."""
    return _ENGLISH if lang == "en" else _CHINESE
