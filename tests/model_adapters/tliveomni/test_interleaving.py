import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tliveomni_eval.model_adapters.tliveomni.audio_lengths import token_start_milliseconds
from tliveomni_eval.model_adapters.tliveomni.interleaving import (
    MediaTokens,
    audio_tokens_of_groups,
    interleave,
    written_time,
)

TOKENS = MediaTokens("V", "[", "]", "A", "(", ")")
TIMES = st.lists(st.integers(0, 100_000), min_size=1, max_size=12).map(lambda times: [t / 1000 for t in sorted(times)])


@settings(max_examples=80)
@given(TIMES, st.integers(0, 400))
def test_each_audio_token_follows_the_last_group_whose_time_has_come(times, audio_tokens):
    expected = [0] * len(times)
    for index in range(audio_tokens):
        start = token_start_milliseconds(index)
        come = [group for group, seconds in enumerate(times) if round(seconds * 1000) <= start]
        expected[max(come, default=0)] += 1
    assert list(audio_tokens_of_groups(times, audio_tokens)) == expected


@settings(max_examples=80)
@given(TIMES, st.integers(0, 200), st.integers(1, 5))
def test_sequence_holds_every_token_once_and_in_order(times, audio_tokens, video_tokens):
    parts = audio_tokens_of_groups(times, audio_tokens)
    sequence = interleave([[written_time(time)] for time in times], video_tokens, parts, TOKENS)
    assert sequence.count("V") == video_tokens * len(times)
    assert sequence.count("A") == audio_tokens
    assert [token for token in sequence if token.startswith("<")] == [written_time(time) for time in times]
    assert sequence.count("(") == sequence.count(")") == sum(part > 0 for part in parts)
    heard = [
        len(piece.split("(")[1].split(")")[0]) if "(" in piece else 0 for piece in "".join(sequence).split("<")[1:]
    ]
    assert heard == list(parts)


@settings(max_examples=40)
@given(TIMES, st.integers(0, 300))
def test_times_in_single_precision_change_nothing(times, audio_tokens):
    import numpy as np

    single = [float(np.float32(time)) for time in times]
    assert audio_tokens_of_groups(single, audio_tokens) == audio_tokens_of_groups(times, audio_tokens)


def test_five_seconds_at_one_frame_a_second():
    # 13 tokens a second; the boundaries are the written times, not the ends of the groups.
    parts = audio_tokens_of_groups([0.5, 2.5, 4.5], 65)
    assert parts == (2 * 13 + 7, 13 + 6 + 7, 6)
    text = "".join(interleave([["0"], ["1"], ["2"]], 2, parts, TOKENS))
    assert text == f"0[VV]({'A' * 33})1[VV]({'A' * 26})2[VV]({'A' * 6})"


def test_group_in_whose_time_nothing_is_heard_has_no_audio_part():
    assert audio_tokens_of_groups([0.5, 2.5, 4.5, 6.5], 20) == (20, 0, 0, 0)
    assert "".join(interleave([["0"], ["1"]], 1, (3, 0), TOKENS)) == "0[V](AAA)1[V]"


def test_sound_before_the_first_frame_and_after_the_last_is_kept():
    assert audio_tokens_of_groups([10.0, 12.0], 300) == (12 * 13, 300 - 12 * 13)


@pytest.mark.parametrize(
    ("times", "tokens", "message"),
    [
        ([], 3, "without frames"),
        ([1.0], -1, "-1 tokens"),
        ([2.5, 0.5], 3, r"0\.5 s comes after 2\.5 s"),
    ],
)
def test_wrong_input_is_named(times, tokens, message):
    with pytest.raises(ValueError, match=message):
        audio_tokens_of_groups(times, tokens)


def test_parts_for_another_number_of_groups_are_an_error():
    with pytest.raises(ValueError, match="2 frame groups, but audio parts for 1"):
        interleave([["0"], ["1"]], 1, (3,), TOKENS)
