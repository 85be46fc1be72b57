"""Ranking, the Pareto front, and what is recommended on which hardware."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tliveomni_eval.evals.serving_figures import BenchReport, Workload
from tliveomni_eval.leaderboard.page_data import RunCard, Standing, TaskCard
from tliveomni_eval.leaderboard.page_model import VerdictName
from tliveomni_eval.leaderboard.paired_samples import PairedSamples
from tliveomni_eval.leaderboard.recommendation import recommendations
from tliveomni_eval.leaderboard.run_card import hardware_name
from tliveomni_eval.leaderboard.standing import standings


def card(key: str, verdict: VerdictName | None = None, hardware: str = "H200", duration_s: float | None = 8) -> RunCard:
    return RunCard(key=key, name=key, hardware=hardware, verdict=verdict, duration_s=duration_s)


def row(run: str, quality: float, seconds: float | None, hardware: str = "H200") -> Standing:
    return Standing(
        task="live_ocr", run=run, hardware=hardware, quality=quality, seconds_per_sample=seconds, on_front=False
    )


def measured(seconds: float, modality: str = "image", hardware: str = "H200") -> BenchReport:
    when = datetime(2026, 11, 30, tzinfo=UTC)
    workload = Workload(name=modality, modality=modality, seconds_per_sample=seconds, ttft_s=seconds / 2)  # type: ignore[arg-type]
    facts = {"name": "x", "backend": "vllm", "model": "x", "timeout_s": 60, "start": when, "end": when}
    return BenchReport(**facts, hardware={"gpus": [hardware]}, workloads=[workload])


def paired(*hits: list[int]) -> PairedSamples:
    """One task of one metric; `hits` are those of each run on the same samples."""
    n = len(hits[0])
    return PairedSamples(
        logs=[None] * len(hits),
        ids=[str(index) for index in range(n)],
        positions=np.tile(np.arange(n), (len(hits), 1)),
        metrics=["field_exact"],
        higher_is_better=[True],
        num=np.array(hits, dtype=float)[:, None, :],
        den=np.ones((len(hits), 1, n)),
        slices=[],
        members=np.zeros((0, n), dtype=bool),
    )


def test_speed_is_that_of_the_modality_where_it_was_measured_and_of_the_run_elsewhere() -> None:
    ranked = standings(
        {"live_ocr": paired([1, 1, 1, 0], [1, 1, 0, 0])},
        [TaskCard(name="live_ocr", metric="field_exact", modality="image")],
        [card("bf16"), card("fp8")],
        [[], [measured(0.2), measured(9, "video")]],
    )
    assert [(one.run, one.quality, one.seconds_per_sample, one.speed_source, one.ttft_s) for one in ranked] == [
        ("bf16", 0.75, 2.0, "run", None),
        ("fp8", 0.5, 0.2, "bench", 0.1),
    ]
    assert [one.on_front for one in ranked] == [True, True], "a batch and single requests do not compare"


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=8))
def test_the_front_is_what_nothing_dominates(points: list[tuple[int, int]]) -> None:
    ranked = standings(
        {"t": paired(*[[1] * hits + [0] * (5 - hits) for hits, _ in points])},
        [TaskCard(name="t", metric="m", modality="text")],
        [card(str(index)) for index in range(len(points))],
        [[measured(seconds, "text")] for _, seconds in points],
    )
    best_so_far = -1.0
    for one in sorted(ranked, key=lambda one: (one.seconds_per_sample or 0, -one.quality)):
        same = [o for o in ranked if o.quality == one.quality and o.seconds_per_sample == one.seconds_per_sample]
        assert one.on_front == (one.quality > best_so_far or any(o.on_front for o in same if o is not one))
        best_so_far = max(best_so_far, one.quality)


def test_the_fastest_inside_the_budget_is_shipped_and_not_the_fastest() -> None:
    runs = [card("w8a8", "PASS"), card("fp8", "PASS"), card("w4a16", "BREACH")]
    ranked = [row("bf16", 0.9, 1.0), row("w8a8", 0.9, 0.6), row("fp8", 0.9, 0.4), row("w4a16", 0.5, 0.2)]
    (found,) = recommendations(card("bf16"), runs, ranked)
    assert (found.run, found.verdict, found.speed_up) == ("fp8", "PASS", 2.5)


def test_a_candidate_without_a_verdict_is_never_shipped() -> None:
    runs = [card("w8a8", "INCONCLUSIVE"), card("w4a16", "BREACH")]
    (found,) = recommendations(card("bf16"), runs, [row("bf16", 0.9, 1.0), row("w8a8", 0.9, 0.1)])
    assert (found.run, found.verdict, found.undecided, found.speed_up) == (None, "INCONCLUSIVE", ["w8a8"], None)


def test_each_hardware_has_its_own() -> None:
    runs = [card("fp8", "PASS"), card("w4a16", "PASS", "L20")]
    ranked = [row("bf16", 0.9, 1.0), row("fp8", 0.9, 0.5), row("w4a16", 0.9, 0.3, "L20")]
    found = recommendations(card("bf16"), runs, ranked)
    assert [(one.hardware, one.run, one.speed_up) for one in found] == [("H200", "fp8", 2.0), ("L20", "w4a16", None)]


def test_one_run_may_be_served_on_several_machines() -> None:
    ranked = standings(
        {"live_ocr": paired([1, 1], [1, 1])},
        [TaskCard(name="live_ocr", metric="field_exact", modality="image")],
        [card("bf16"), card("w4a16", "PASS")],
        [[measured(0.4), measured(0.9, hardware="L20")], [measured(0.3), measured(0.3, hardware="L20")]],
    )
    assert len(ranked) == 4
    assert {one.run for one in ranked if one.on_front} == {"w4a16"}
    found = recommendations(card("bf16"), [card("w4a16", "PASS")], ranked)
    assert [(one.hardware, round(one.speed_up or 0, 6)) for one in found] == [("H200", 1.333333), ("L20", 3.0)]


def test_the_speed_of_transformers_is_not_that_of_vllm() -> None:
    slow = measured(7).model_copy(update={"backend": "transformers"})
    for model, expected in (("tliveomni_vllm", 0.2), ("tliveomni_hf", 7)):
        (found,) = standings(
            {"live_ocr": paired([1, 1])},
            [TaskCard(name="live_ocr", metric="field_exact", modality="image")],
            [card("bf16").model_copy(update={"model": model})],
            [[slow, measured(0.2)]],
        )
        assert found.seconds_per_sample == expected


def test_unmeasured_speed_comes_last() -> None:
    runs = [card("a", "PASS"), card("b", "PASS")]
    (found,) = recommendations(card("bf16"), runs, [row("a", 0.9, None), row("b", 0.9, 3.0)])
    assert found.run == "b"


def test_hardware_is_named_by_its_accelerators() -> None:
    assert hardware_name({"gpus": ["H200"] * 8, "processor": "Xeon"}) == "8 × H200"
    assert hardware_name({"device": "cpu", "cores": 1}) == "cpu, 1 core"
    assert hardware_name({"gpus": [], "processor": None}) == ""
