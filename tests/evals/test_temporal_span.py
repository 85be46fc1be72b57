from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tliveomni_eval.evals.metrics.model_output import MAX_SCORED_CHARS, read_output
from tliveomni_eval.evals.metrics.temporal_span import MAX_SPANS, SpanAnswer, TimeFormat, parse_spans, parse_time


def spans(text: str, time_format: TimeFormat = "seconds", scored: bool = False) -> list[tuple[float, float]]:
    return [(span.start, span.end) for span in answer(text, time_format, scored).spans]


def answer(text: str, time_format: TimeFormat = "seconds", scored: bool = False) -> SpanAnswer:
    return parse_spans(read_output(text), time_format, scored=scored)


@pytest.mark.parametrize(
    "text",
    [
        "12.0s–30.0s",
        "12 - 30",
        "12~30",
        "[12, 30]",
        "(12, 30)",
        "12s, 30s",
        "[12s, 30s]",
        "12-30s",
        "12 to 30 seconds",
        "12s to 30s.",
        "从12秒到30秒",
        "从１２秒到３０秒",
        "12秒－30秒",
        "第12秒至第30秒",
        "从12秒一直到大约30秒",
        "在12到30秒之间",
        "12秒开始，30秒结束",
        "开始时间：12秒，结束时间：30秒",
        "00:12–00:30",
        "00:00:12 --> 00:00:30",
        "0分12秒到0分30秒",
        "starts at 12s and ends at 30s",
        "It starts at 12 seconds, and finishes after 30 seconds.",
        "between 12 and 30 seconds",
        "from about 12s to about 30s",
        "Start time: 00:00:12\nEnd time: 00:00:30",
        "The start time is 12 s while the end time is 30 s.",
        "start: 12, end: 30",
        '```json\n{"start": 12, "end": 30}\n```\nI hope that this helps.',
        '[{"start_time": "12s", "end_time": "30s"}]',
        '{"Start Time": 12.0, "End Time": "30.0"}',
        '{"开始时间": "00:12", "结束时间": "00:30"}',
        '["00:12", "00:30"]',
        '["00:12-00:30"]',
        '{"segments": [[12, 30]]}',
        '{"time": "12s - 30s"}',
        "<think>perhaps 40s - 50s</think>12s - 30s",
        "The host sells 2-3 pairs from 12s to 30s.",
    ],
)
def test_the_same_span_in_many_wrappings(text: str) -> None:
    assert spans(text) == [(12.0, 30.0)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1:02:03 - 1:05:00", [(3723.0, 3900.0)]),
        ("1小时2分3秒 - 1小时5分", [(3723.0, 3900.0)]),
        ("1h2m3s - 1h5m", [(3723.0, 3900.0)]),
        ("1-2 minutes", [(60.0, 120.0)]),
        ("1 minute 5 seconds to 1 minute 20 seconds", [(65.0, 80.0)]),
        ("5 - 1:30", [(5.0, 90.0)]),
        ("30 - 12", [(30.0, 12.0)]),
        ("12s to 30s and 40s to 50s", [(12.0, 30.0), (40.0, 50.0)]),
        ("片段1: 0.0 - 3.2秒\n片段2: 8 - 9.5秒", [(0.0, 3.2), (8.0, 9.5)]),
        ("[[12, 30], [40, 50]]", [(12.0, 30.0), (40.0, 50.0)]),
        ('[{"start": 1, "end": 2}, {"from": 3, "to": 4}]', [(1.0, 2.0), (3.0, 4.0)]),
    ],
)
def test_other_times(text: str, expected: list[tuple[float, float]]) -> None:
    assert spans(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "无",
        "无。",
        "None.",
        "[]",
        "{}",
        '{"segments": []}',
        '{"segments": [], "query": "red cup"}',
        '{"start": null, "end": null}',
        '{"segment": "none"}',
        "no such segment",
        "There is no such moment in the stream.",
        "The event does not occur in the video.",
        "It can't be found.",
        "视频中没有该片段。",
        "未找到相关片段",
        "该商品不存在于视频中",
    ],
)
def test_no_answer_is_an_answer(text: str) -> None:
    read = answer(text)
    assert read.parsed
    assert read.spans == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "at 12s",
        "12.5",
        "我没有看到视频",
        "2024-05-01",
        "-5 - 10",
        "[1, 2, 3, 4]",
        "[true, 30]",
        "hello",
        "5 - 99999999999",
    ],
)
def test_what_is_not_a_span_is_unparsed(text: str) -> None:
    assert answer(text) == SpanAnswer((), False, answer(text).incomplete)


def test_bare_numbers_mean_seconds_only_where_declared() -> None:
    assert spans("[12, 30]", "mm:ss") == []
    assert not answer("12 - 30", "mm:ss").parsed
    assert spans("00:12 - 00:30", "mm:ss") == [(12.0, 30.0)]
    assert spans('[["00:12", "00:30"]]', "mm:ss") == [(12.0, 30.0)]
    assert spans("12s - 30s", "mm:ss") == [(12.0, 30.0)]


def test_scores_count_only_where_asked_for() -> None:
    assert [span.score for span in answer("[[1, 2, 0.9], [3, 4, 0.5]]", scored=True).spans] == [0.9, 0.5]
    assert not answer("[1, 2, 0.9]").parsed
    stated = answer('[{"start": 1, "end": 2, "confidence": 0.7}, {"score": 0.2, "span": [3, 4]}]', scored=True)
    assert [span.score for span in stated.spans] == [0.7, 0.2]
    assert answer('{"start": 1, "end": 2, "score": true}', scored=True).spans[0].score is None


def test_a_broken_off_list_keeps_its_complete_spans() -> None:
    read = answer("[[12, 30], [40,")
    assert [(span.start, span.end) for span in read.spans] == [(12.0, 30.0)]
    assert read.incomplete
    assert not answer("[[12, 30]]").incomplete


def test_a_repeating_answer_is_capped() -> None:
    assert len(spans("12s - 30s, " * 500)) == MAX_SPANS


@pytest.mark.parametrize(
    ("text", "status"),
    [(None, "error"), (" \n", "empty"), ("x" * (MAX_SCORED_CHARS + 1), "truncated"), ("x", "unparsed")],
)
def test_unusable_outputs(text: str | None, status: str) -> None:
    assert read_output(text).status(parsed=False) == status


def test_an_unclosed_reasoning_holds_no_answer() -> None:
    assert spans("<think>it is 12s - 30s") == []


def test_the_end_survives_a_cut_from_the_end() -> None:
    assert read_output("x" * 50_000 + "B", keep="end").text.endswith("B")


@given(st.integers(0, 359_999), st.integers(0, 359_999))
def test_written_times_are_read_back(start: int, end: int) -> None:
    def clock(seconds: int) -> str:
        return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"

    expected = [(float(start), float(end))]
    assert spans(f"{clock(start)} - {clock(end)}", "mm:ss") == expected
    assert spans(f"从{start // 60}分{start % 60}秒到{end // 60}分{end % 60}秒") == expected
    assert spans(f"{start}s to {end}s") == expected
    assert spans(json.dumps({"start": start, "end": end})) == expected


@given(st.text(max_size=30))
def test_a_time_is_a_number_or_none(text: str) -> None:
    value = parse_time(text, "seconds")
    assert value is None or value >= 0
