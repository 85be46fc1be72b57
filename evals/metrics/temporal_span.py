"""Time spans in a model's answer: strict about what they mean, lenient about how they are wrapped.

The task declares how its prompt asks for times. A clock reading (`01:15`) and a number with a unit (`75 s`, `1分15秒`)
mean the same under either format; a bare number is read as seconds only where the task declares `seconds`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from tliveomni_eval.evals.metrics.embedded_json import find_json
from tliveomni_eval.evals.metrics.model_output import ModelOutput

TimeFormat = Literal["seconds", "mm:ss"]

MAX_SPANS = 100
"""Spans that are read from one answer; a model that repeats itself says nothing new after that."""


@dataclass(frozen=True, slots=True)
class PredictedSpan:
    """A span as stated: reversed and zero-length spans are kept, they are wrong answers and not errors.

    Attributes:
        start: Seconds from the start of the video.
        end: Seconds from the start of the video.
        score: Confidence as stated (higher is surer), or None.
    """

    start: float
    end: float
    score: float | None = None


@dataclass(frozen=True, slots=True)
class SpanAnswer:
    """What an answer says.

    Attributes:
        spans: In the order stated, at most `MAX_SPANS`.
        parsed: True when spans were found or the answer says that there are none.
        incomplete: True when the answer broke off inside a list of spans.
    """

    spans: tuple[PredictedSpan, ...]
    parsed: bool
    incomplete: bool = False


_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
_HOURS = r"(?:小时|時間|hours?|hrs?|h)(?![a-z])"
_MINUTES = r"(?:分钟|分鐘|分|minutes?|mins?|m)(?![a-z])"
_SECONDS = r"(?:秒钟|秒鐘|秒|seconds?|secs?|s)(?![a-z])"
_CLOCK = r"(?:\d{1,3}:)?\d{1,3}:\d{2}(?:\.\d{1,9})?"
_WITH_UNITS = (
    rf"{_NUMBER}\s*{_HOURS}(?:\s*{_NUMBER}\s*{_MINUTES})?(?:\s*{_NUMBER}\s*{_SECONDS})?"
    rf"|{_NUMBER}\s*{_MINUTES}(?:\s*(?:and\s+)?{_NUMBER}\s*{_SECONDS})?"
    rf"|{_NUMBER}\s*{_SECONDS}"
)
_TIME = rf"(?<![\d.])(?<!\d:)(?:{_CLOCK}(?:\s*{_SECONDS})?|{_WITH_UNITS}|{_NUMBER})(?![\d:]|\.\d)"
_START_WORD = r"(?:start(?:s|ed|ing)?|begin(?:s|ning)?|began|onset|from|开始|起始|起点)"
_END_WORD = r"(?:end(?:s|ed|ing)?|finish(?:es|ed|ing)?|stop(?:s|ped)?|until|till|结束|终止|终点|截止|to)"
_LINK = r"[^\d;。!?\n]{0,24}?"
_BETWEEN = r"\s*(?:-+>?|→|~|to|until|till|through|(?:一?直)?到|至)\s*(?:第|大约|约|about|around)?\s*"

_RANGE_PATTERNS = (
    rf"(?<!-)(?P<s1>{_TIME}){_BETWEEN}(?P<e1>{_TIME})(?!-\d)",
    rf"between\s+(?P<s2>{_TIME})\s+and\s+(?P<e2>{_TIME})",
    rf"{_START_WORD}{_LINK}(?P<s3>{_TIME})[^\d。!?]{{0,60}}?{_END_WORD}{_LINK}(?P<e3>{_TIME})",
    rf"(?P<s4>{_TIME})\s*(?:处|时)?\s*开始[^\d。!?]{{0,24}}?(?P<e4>{_TIME})\s*(?:处|时)?\s*(?:结束|为止|停止)",
    rf"[(\[]\s*(?P<s5>{_TIME})\s*,\s*(?P<e5>{_TIME})\s*[)\]]",
    rf"\A(?P<s6>{_TIME})\s*[,;]\s*(?P<e6>{_TIME})[.。]?\Z",
)
_RANGE = re.compile("|".join(_RANGE_PATTERNS), re.IGNORECASE)
_UNITS = re.compile(
    rf"(?:(?P<h>{_NUMBER})\s*{_HOURS})?\s*(?:(?P<m>{_NUMBER})\s*{_MINUTES})?\s*(?:and\s+)?(?:(?P<s>{_NUMBER})\s*{_SECONDS})?",
    re.IGNORECASE,
)
_TRAILING_UNIT = re.compile(rf"^{_NUMBER}\s*(?:(?P<h>{_HOURS})|(?P<m>{_MINUTES})|(?P<s>{_SECONDS}))$", re.IGNORECASE)
_BARE = re.compile(rf"^-?{_NUMBER}$")
_CLOCK_READING = re.compile(rf"^({_CLOCK})(?:\s*{_SECONDS})?$", re.IGNORECASE)

_NO_ANSWER = re.compile(
    r"^\W*(?:无|没有|none|null|nil|n/?a|no)\W*$"
    r"|无(?:相关|匹配|对应|此|该|这样的|符合)|不存在|未(?:出现|找到|提及|提到|发现|检测到)|找不到|没有?(?:出现|找到|提到|提及|发现|这|那|相关|匹配|对应|符合|该|此)|不在(?:视频|直播|画面)"
    r"|\bno\s+(?:such|matching|relevant|corresponding|segments?|moments?|answer|results?|match(?:es)?|occurrences?|clips?|time)\b"
    r"|\b(?:does|did|do|is|was|are|were|has|could|can|ca)(?:\s+not|n['’]t)\s+(?:be\s+)?"
    r"(?:occur|appear|happen|found|find|shown?|seen|present|exist|mention(?:ed)?|visible|contain(?:ed)?|locate(?:d)?)"
    r"|\bcannot\s+(?:be\s+)?(?:find|found|locate)|\bnot\s+(?:found|present|shown|mentioned|in\s+(?:the|this)\s+(?:video|stream|clip))"
    r"|\bnever\s+(?:appears?|occurs?|happens?|shown|mentioned)|\bthere\s+(?:is|are|was|were)\s+(?:no|none|not any)\b",
    re.IGNORECASE,
)

_KEY_JOINTS = re.compile(r"[\s_-]+")
_START_KEYS = (
    "start",
    "starttime",
    "startsec",
    "startseconds",
    "startsat",
    "tstart",
    "starts",
    "begin",
    "begintime",
    "from",
)
_START_KEYS_ZH = ("开始", "开始时间", "起始时间")
_END_KEYS = ("end", "endtime", "endsec", "endseconds", "endsat", "tend", "ends", "finish", "finishtime", "to")
_END_KEYS_ZH = ("结束", "结束时间", "终止时间")
_SCORE_KEYS = ("score", "confidence", "probability", "置信度")


def parse_time(text: str, time_format: TimeFormat) -> float | None:
    """Reads one point in time.

    Args:
        text: `75`, `75.5 s`, `1分15秒`, `1:15`, `1:02:03`, `1 min 15 s`.
        time_format: What the task declares; a bare number is seconds under `seconds` and nothing under `mm:ss`.

    Returns:
        Seconds, or None when the text is not a time in this format.
    """
    text = text.strip()
    if _BARE.match(text):
        return float(text) if time_format == "seconds" else None
    clock = _CLOCK_READING.match(text)
    if clock:
        seconds = 0.0
        for part in clock.group(1).split(":"):
            seconds = seconds * 60 + float(part)
        return seconds
    units = _UNITS.fullmatch(text)
    if units is None or not any(units.groups()):
        return None
    hours, minutes, seconds = (float(units[name] or 0) for name in ("h", "m", "s"))
    return hours * 3600 + minutes * 60 + seconds


def parse_spans(output: ModelOutput, time_format: TimeFormat, *, scored: bool = False) -> SpanAnswer:
    """Reads the spans of an answer.

    JSON is read first (objects with a start and an end, pairs, lists of them, strings that hold a range), then ranges
    in prose. Where a text holds ranges with units or clock readings, its bare number ranges ("2-3 items") are no times.

    Args:
        output: The prepared output.
        time_format: What the task declares.
        scored: True when the task asks for a confidence, so that `[start, end, score]` has a meaning.

    Returns:
        The spans, or that there are none, or that neither could be read (`parsed=False`).
    """
    if not output.text:
        return SpanAnswer((), False)
    found = find_json(output.text)
    spans: list[PredictedSpan] = []
    for value in found.values:
        spans.extend(_spans_in_json(value, time_format, scored))
    if not spans:
        spans = list(_spans_in_text(output.text, time_format))
    if spans:
        return SpanAnswer(tuple(spans[:MAX_SPANS]), True, found.incomplete)
    says_none = any(_says_none(value) for value in found.values) or _NO_ANSWER.search(output.text) is not None
    return SpanAnswer((), says_none, found.incomplete)


def _says_none(value: Any) -> bool:
    """True for `[]`, `{"segments": []}` and `{"start": null, "end": null}`."""
    if value in ([], {}):
        return True
    if not isinstance(value, dict):
        return False
    items = list(value.values())
    return any(item == [] or (isinstance(item, str) and _NO_ANSWER.match(item)) for item in items) or not any(
        item is not None for item in items
    )


def _spans_in_json(value: Any, time_format: TimeFormat, scored: bool) -> Iterable[PredictedSpan]:
    if isinstance(value, dict):
        fields = {_KEY_JOINTS.sub("", str(key)).lower(): item for key, item in value.items()}
        score = _first(fields, _SCORE_KEYS)
        pair = (_first(fields, _START_KEYS + _START_KEYS_ZH), _first(fields, _END_KEYS + _END_KEYS_ZH))
        span = _span_of(pair[0], pair[1], score, time_format)
        if span is not None:
            yield span
            return
        for item in value.values():
            for inner in _spans_in_json(item, time_format, scored):
                yield PredictedSpan(
                    inner.start, inner.end, inner.score if inner.score is not None else _as_score(score)
                )
    elif isinstance(value, list):
        span = None
        if len(value) == 2 or (scored and len(value) == 3):
            span = _span_of(value[0], value[1], value[2] if len(value) == 3 else None, time_format)
        if span is not None:
            yield span
            return
        for item in value:
            if isinstance(item, dict | list | str):
                yield from _spans_in_json(item, time_format, scored)
    elif isinstance(value, str):
        yield from _spans_in_text(value, time_format)


def _first(fields: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((fields[key] for key in keys if key in fields), None)


def _span_of(start: Any, end: Any, score: Any, time_format: TimeFormat) -> PredictedSpan | None:
    times = [_json_time(value, time_format) for value in (start, end)]
    if times[0] is None or times[1] is None:
        return None
    return PredictedSpan(times[0], times[1], _as_score(score))


def _json_time(value: Any, time_format: TimeFormat) -> float | None:
    if isinstance(value, str):
        return parse_time(value, time_format)
    if isinstance(value, bool) or not isinstance(value, int | float) or time_format != "seconds":
        return None
    return float(value) if abs(value) < 1e9 else None


def _as_score(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e9 or math.isnan(value):
        return None
    return float(value)


def _spans_in_text(text: str, time_format: TimeFormat) -> Iterable[PredictedSpan]:
    explicit: list[PredictedSpan] = []
    bare: list[PredictedSpan] = []
    for match in _RANGE.finditer(text):
        start_text, end_text = (group for group in match.groups() if group is not None)
        is_bare = bool(_BARE.match(start_text) and _BARE.match(end_text))
        start = parse_time(_with_unit_of(start_text, end_text), time_format)
        end = parse_time(end_text, time_format)
        if start is not None and end is not None:
            (bare if is_bare else explicit).append(PredictedSpan(start, end))
    return explicit or bare


def _with_unit_of(start_text: str, end_text: str) -> str:
    """Gives `12` its unit in `12 to 30 seconds` and in `1-2 minutes`; beside a clock reading it is seconds."""
    if not _BARE.match(start_text):
        return start_text
    unit = _TRAILING_UNIT.match(end_text)
    if unit is not None:
        return start_text + next(group for group in unit.groups() if group)
    return start_text if _BARE.match(end_text) else f"{start_text}s"
