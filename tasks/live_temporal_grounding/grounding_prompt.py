"""The question of live_temporal_grounding and the form of its answer."""

from typing import Final

from tliveomni_eval.evals.metrics.temporal_span import TimeFormat

_FORMS: Final[dict[tuple[TimeFormat, str], str]] = {
    ("seconds", "zh"): "列出每一段的开始和结束（从视频开头算起的秒数，一位小数），"
    '只输出 JSON 数组，例如 [{"start": 12.5, "end": 30.0}]；没有就输出 []。',
    (
        "seconds",
        "en",
    ): "List the start and end of each stretch in seconds from the start of the video, with one decimal. "
    'Answer only with a JSON array, e.g. [{"start": 12.5, "end": 30.0}]. If there is none, answer [].',
    ("mm:ss", "zh"): "列出每一段的开始和结束（从视频开头算起，分:秒），"
    '只输出 JSON 数组，例如 [{"start": "00:12.5", "end": "00:30.0"}]；没有就输出 []。',
    ("mm:ss", "en"): "List the start and end of each stretch as mm:ss from the start of the video. "
    'Answer only with a JSON array, e.g. [{"start": "00:12.5", "end": "00:30.0"}]. If there is none, answer [].',
}


def grounding_prompt(question: str, lang: str, time_format: TimeFormat = "seconds") -> str:
    """The task's own prompt.

    Args:
        question: A full sentence, e.g. `When is the red bottle in the picture?`.
        lang: `zh` or `en`.
        time_format: Of the times that are asked for.
    """
    return question + ("" if lang == "zh" else " ") + _FORMS[time_format, lang]
