"""cp, tcp and ORC against recorded values of meeteval (`parity/record_meeteval.py`) and against brute force."""

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from rapidfuzz.distance import Levenshtein
from tliveomni_eval.evals.metrics import speaker_token_errors
from tliveomni_eval.evals.metrics.diarization import score_diarization
from tliveomni_eval.evals.metrics.speaker_token_errors import TimedTokens, cp_errors, orc_errors, tcp_errors
from tliveomni_eval.evals.metrics.speaker_turns import Turn
from tliveomni_eval.evals.record import Counts

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "parity" / "meeteval_cases.jsonl").read_text("utf-8").splitlines()
]


def streams(turns: list[Any]) -> list[TimedTokens]:
    spoken: dict[str, list[Any]] = {}
    for turn in sorted(turns, key=lambda turn: turn[1]):
        spoken.setdefault(turn[0], []).append(turn)
    return [
        TimedTokens(tuple(tuple(text) for *_, text in segments), tuple((start, end) for _, start, end, _ in segments))
        for segments in spoken.values()
    ]


def test_there_are_500_recorded_cases() -> None:
    assert len(CASES) == 500


def test_cp_and_tcp_equal_meeteval() -> None:
    for case in CASES:
        reference, hypothesis = streams(case["reference"]), streams(case["hypothesis"])
        flat = [speaker.flat() for speaker in reference], [speaker.flat() for speaker in hypothesis]
        assert cp_errors(*flat).counts == Counts(*case["cp"])
        assert tcp_errors(reference, hypothesis, 5.0).counts == Counts(*case["tcp_5"])
        assert tcp_errors(reference, hypothesis, 0.5).counts == Counts(*case["tcp_0.5"])


def test_orc_equals_meeteval_where_it_is_exact_and_is_a_bound_where_not() -> None:
    proven = 0
    for case in CASES:
        utterances = [list(text) for *_, text in sorted(case["reference"], key=lambda turn: turn[1])]
        found = orc_errors(utterances, [speaker.flat() for speaker in streams(case["hypothesis"])])
        proven += found.exact
        if found.exact:
            assert found.counts == Counts(*case["orc"])
        else:
            assert found.counts.num >= case["orc"][0]
    assert proven >= 480


def test_the_scorer_equals_meeteval_on_whole_dialogues() -> None:
    for case in CASES:
        output = json.dumps(
            [dict(zip(("speaker", "start", "end", "text"), turn, strict=True)) for turn in case["hypothesis"]]
        )
        score = score_diarization([Turn(*turn) for turn in case["reference"]], output, lang="zh")
        assert score.cp_cer == Counts(*case["cp"])
        assert score.tcp_cer == Counts(*case["tcp_5"])
        assert score.orc_cer == Counts(*case["orc"])


def test_the_local_search_alone_finds_the_optimum_of_a_dialogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaker_token_errors, "MAX_EXACT_CELLS", 0)
    worse = 0
    for case in CASES:
        output = json.dumps(
            [dict(zip(("speaker", "start", "end", "text"), turn, strict=True)) for turn in case["hypothesis"]]
        )
        score = score_diarization([Turn(*turn) for turn in case["reference"]], output, lang="zh")
        assert score.orc_cer.num >= case["orc"][0]
        worse += score.orc_cer.num > case["orc"][0]
    assert worse <= 10


def test_cp_is_the_least_over_all_permutations() -> None:
    rng = random.Random(1)
    for _ in range(500):
        right = ["".join(rng.choices("ab", k=rng.randrange(5))) for _ in range(rng.randrange(4))]
        read = ["".join(rng.choices("ab", k=rng.randrange(5))) for _ in range(rng.randrange(4))]
        size = max(len(right), len(read))
        padded = right + [""] * (size - len(right)), read + [""] * (size - len(read))
        least = min(
            sum(Levenshtein.distance(a, b) for a, b in zip(padded[0], order, strict=True))
            for order in itertools.permutations(padded[1])
        )
        assert cp_errors([list(text) for text in right], [list(text) for text in read]).counts.num == least


def test_orc_is_the_least_over_all_assignments() -> None:
    rng = random.Random(2)
    for _ in range(200):
        right = ["".join(rng.choices("abc", k=rng.randrange(4))) for _ in range(rng.randrange(1, 4))]
        read = ["".join(rng.choices("abc", k=rng.randrange(6))) for _ in range(rng.randrange(1, 4))]
        least = min(
            sum(
                Levenshtein.distance(
                    "".join(text for text, at in zip(right, chosen, strict=True) if at == stream), read[stream]
                )
                for stream in range(len(read))
            )
            for chosen in itertools.product(range(len(read)), repeat=len(right))
        )
        found = orc_errors([list(text) for text in right], [list(text) for text in read])
        assert found.exact
        assert found.counts.num == least


def test_a_bounded_orc_search_says_that_it_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaker_token_errors, "MAX_SEARCH_WORK", 1)
    monkeypatch.setattr(speaker_token_errors, "MAX_EXACT_CELLS", 0)
    found = orc_errors([list("ab"), list("cd"), list("ef")], [list("fab"), list("cdx")])
    assert not found.exact
    assert found.counts.den == 6 and found.counts.num >= 2


def test_no_speakers_on_one_side() -> None:
    assert cp_errors([], [["a"]]).counts == Counts(1, 0)
    assert cp_errors([["a"]], []).counts == Counts(1, 1)
    assert tcp_errors([], [TimedTokens((("a",),), ((0, 1),))], 5.0).counts == Counts(1, 0)
    assert orc_errors([["a"], ["b"]], []).counts == Counts(2, 2)
    assert orc_errors([], [["a"]]) == speaker_token_errors.OrcErrors(Counts(1, 0), exact=True)
