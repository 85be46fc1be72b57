import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tliveomni_eval.evals.metrics.diarization import MAX_OUTPUT_CHARS, score_diarization
from tliveomni_eval.evals.metrics.speaker_turns import MAX_TURNS, Turn, parse_turns
from tliveomni_eval.evals.record import Counts

REFERENCE = [
    Turn("host", 0.0, 3.2, "今天天气好"),
    Turn("guest", 3.0, 6.0, "价格多少"),
    Turn("host", 6.0, 8.0, "九块九"),
]
JSON = json.dumps(
    [
        {"speaker": "S1", "start": 0.0, "end": 3.2, "text": "今天天气好"},
        {"speaker": "S2", "start": 3.0, "end": 6.0, "text": "价格多少"},
        {"speaker": "S1", "start": 6.0, "end": 8.0, "text": "9.9元"},
    ],
    ensure_ascii=False,
)
LINES = "[0.0-3.2] S1: 今天天气好\n[3.0-6.0] S2: 价格多少\n[6.0-8.0] S1: 九块九"


@pytest.mark.parametrize(
    "output",
    [
        JSON,
        f"```json\n{JSON}\n```",
        f"Here are the turns: {JSON} I hope this helps [1].",
        '{"turns": ' + JSON + "}",
        JSON[1:-1],
        JSON.replace("3.2", '"3.2s"').replace("6.0", '"00:06"'),
        LINES,
        LINES.replace("[", "［").replace("]", "］").replace(":", "："),
        LINES.replace("-", " --> "),
        LINES.replace("-", "至"),
        "- S1 (0.0-3.2): 今天天气好\n- S2 (3.0s - 6.0s): 价格多少\n- S1 (6.0秒到8.0秒)：九块九",
        "[00:00-00:03.2] Speaker 1: 今天天气好\n"
        "[00:03-00:06] Speaker 2: 价格多少\n[00:00:06-00:00:08] Speaker 1: 九块九",
        f"<think>two speakers</think>Turns:\n{LINES}",
    ],
)
def test_the_reference_in_any_wrapping_has_no_errors(output: str) -> None:
    score = score_diarization(REFERENCE, output)
    assert {name: counts.num for name, counts in score.counts.items()} == pytest.approx(
        {"cp_cer": 0, "tcp_cer": 0, "orc_cer": 0, "der": 0, "jer": 0, "speaker_count_accuracy": 1}, abs=1e-9
    )
    assert score.status == "ok"
    assert sorted(score.detail["mapping"].values()) == ["guest", "host"]


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("", "empty"),
        (" \n", "empty"),
        (None, "error"),
        ("我没听清", "unparsed"),
        ("S1: 今天天气好", "unparsed"),
        ("[]", "unparsed"),
        ('{"a": [1]}', "unparsed"),
    ],
)
def test_an_output_without_turns_is_all_errors(output: str | None, status: str) -> None:
    score = score_diarization(REFERENCE, output)
    assert score.status == status
    length = Counts(13, 13)
    assert (score.cp_cer, score.tcp_cer, score.orc_cer) == (length, length, length)
    assert score.der.rate == pytest.approx(1) and score.jer.rate == pytest.approx(1)
    assert score.speaker_count_accuracy == Counts(0, 1)


def test_confused_speakers_cost_cp_and_der_but_not_orc() -> None:
    score = score_diarization(REFERENCE, LINES.replace("[6.0-8.0] S1", "[6.0-8.0] S2"))
    assert score.orc_cer == Counts(0, 13)
    assert score.cp_cer == score.tcp_cer == Counts(8, 13)
    assert score.der.num == pytest.approx(2.0) and score.detail["confusion_s"] == 2.0


def test_words_far_from_their_time_cost_tcp_only() -> None:
    score = score_diarization([Turn("A", 0, 2, "你好")], "[20-22] S1: 你好")
    assert score.cp_cer == Counts(0, 2)
    assert score.tcp_cer == Counts(4, 2)


@pytest.mark.parametrize(
    "item",
    [
        {"speaker": "S1", "start": 5, "end": 3, "text": "x"},
        {"speaker": "S1", "start": -1, "end": 3, "text": "x"},
        {"speaker": "S1", "start": math.nan, "end": 3, "text": "x"},
        {"speaker": "S1", "start": 1e300, "end": 1e301, "text": "x"},
        {"speaker": "S1", "start": True, "end": 3, "text": "x"},
        {"speaker": "S1", "start": "soon", "end": 3, "text": "x"},
        {"speaker": "S1", "start": 1, "text": "x"},
        {"speaker": "", "start": 1, "end": 3, "text": "x"},
        {"speaker": None, "start": 1, "end": 3, "text": "x"},
        {"speaker": True, "start": 1, "end": 3, "text": "x"},
    ],
)
def test_a_turn_that_cannot_be_is_dropped_and_counted(item: dict[str, object]) -> None:
    parsed = parse_turns(json.dumps([item, {"speaker": 2, "start": 1, "end_time": 3}]))
    assert parsed.turns == (Turn("2", 1.0, 3.0, ""),)
    assert parsed.invalid == 1
    assert score_diarization(REFERENCE, json.dumps([item])).detail["invalid_turns"] == 1


def test_a_reversed_line_is_invalid() -> None:
    assert parse_turns("[9.0-3.0] S1: 好").invalid == 1


def test_an_output_that_breaks_off_keeps_its_complete_turns() -> None:
    score = score_diarization(REFERENCE, JSON[:-30])
    assert score.status == "truncated"
    assert len(score.detail["turns"]) == 2
    assert score.cp_cer == Counts(4, 13)


def test_too_many_turns_and_too_long_outputs_are_cut() -> None:
    turn = '{"speaker":"S","start":1,"end":2,"text":"好"},'
    assert len(parse_turns("[" + turn * 1000).turns) == MAX_TURNS
    score = score_diarization(REFERENCE, "[" + turn * 1000)
    assert score.status == "truncated"
    assert score.cp_cer.num <= 13 + MAX_TURNS


def test_nobody_spoke() -> None:
    score = score_diarization([], "[0-1] S1: 喂")
    assert score.cp_cer == Counts(1, 0) and score.der == Counts(1, 0)
    assert score.detail["rate_undefined"] is True
    silent = score_diarization([], "[]")
    assert silent.cp_cer == Counts(0, 0) and silent.speaker_count_accuracy == Counts(1, 1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [(("", 0, 1), "speaker"), (("A", 2, 1), "start=2"), (("A", -1, 1), "start=-1"), (("A", 0, math.inf), "inf")],
)
def test_a_turn_is_checked(fields: tuple[str, float, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Turn(*fields, "text")


turns = st.builds(
    lambda speaker, start, length, text: Turn(speaker, start, start + length, text),
    st.sampled_from(["S1", "S2", "主播"]),
    st.integers(0, 600).map(float),
    st.integers(0, 30).map(float),
    st.text("今天气ab9", max_size=8),
)


@given(st.lists(turns, max_size=8))
def test_lines_and_json_read_alike(said: list[Turn]) -> None:
    as_json = json.dumps([{"speaker": t.speaker, "start": t.start, "end": t.end, "text": t.text} for t in said])
    as_lines = "\n".join(f"[{t.start}-{t.end}] {t.speaker}: {t.text}" for t in said)
    assert parse_turns(as_json).turns == parse_turns(as_lines).turns == tuple(said)
    score = score_diarization(said, as_lines)
    assert score.cp_cer.num == score.orc_cer.num == 0


def hostile_output(rng: random.Random) -> str:
    pieces = [
        "",
        "\x00",
        "NaN",
        "-1",
        "1e999",
        "💰",
        "\ud800",
        "[" * 30,
        "{",
        "}",
        "]",
        '"',
        ",",
        ":",
        "\n",
        "```",
        "<think>",
        "</think>",
        '{"speaker":"S1","start":0,"end":1,"text":"好"}',
        '{"speaker":"S1","start":9,"end":1}',
        '{"speaker":[],"start":{},"end":[]}',
        "[0-1] S1: 好",
        "S1 (0-1): 好",
        "[0.0.1-3]",
        "(1:2:3:4-5)",
        "[99999999999999999999-1] S1: x",
        "0:0-0:0 S: y",
        "--> ",
        "至",
        "：",
    ]
    return "".join(rng.choice(pieces) for _ in range(rng.randrange(25)))


def test_ten_thousand_hostile_outputs_give_sound_counts() -> None:
    rng = random.Random(9)
    for _ in range(10_000):
        score = score_diarization(REFERENCE[:2], hostile_output(rng))
        assert score.cp_cer.den == 9 and score.speaker_count_accuracy.den == 1
        assert score.orc_cer.num <= score.cp_cer.num <= score.tcp_cer.num
        json.dumps(score.detail)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "好",
        "9",
        "[",
        "{",
        '{"',
        "\x00",
        "[0-1] S1: 好\n",
        "S1 (0-1)",
        "0-1 ",
        "a ",
        "：",
        '{"speaker":"S","start":0,"end":1},',
    ],
)
def test_outputs_of_a_million_characters_are_cut(unit: str) -> None:
    score = score_diarization(REFERENCE, unit * (1_000_000 // len(unit)))
    assert score.status == "truncated"
    assert score.cp_cer.num <= MAX_OUTPUT_CHARS + 13


def test_four_hundred_speakers_are_scored() -> None:
    output = "\n".join(f"[{i}-{i + 1}] S{i}: 好好好好好好好好好好好好" for i in range(400))
    score = score_diarization(REFERENCE, output)
    assert score.status == "ok"
    assert score.speaker_count_accuracy == Counts(0, 1)
