"""Families of slices, overlap, the bootstrap and planning."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from tliveomni_eval.evals.statistics.bootstrap import MOST_UNITS, bootstrap_losses, percentile_intervals
from tliveomni_eval.evals.statistics.cluster_values import cluster_values
from tliveomni_eval.evals.statistics.comparison import SliceComparison
from tliveomni_eval.evals.statistics.inference import compare_slices
from tliveomni_eval.evals.statistics.multiplicity import family_verdicts, holm_adjusted, release_verdict
from tliveomni_eval.evals.statistics.overlap import shared_with_others
from tliveomni_eval.evals.statistics.paired_slices import PairedSums
from tliveomni_eval.evals.statistics.plan import plan_rates, plan_run


@pytest.fixture(scope="module")
def frozen_garbage() -> Iterator[None]:
    """statsmodels collects garbage at each call, 0.7 s of it once a process has imported torch and vLLM."""
    gc.freeze()
    yield
    gc.unfreeze()


@given(p_values=st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_equals_statsmodels(frozen_garbage: None, p_values: list[float]) -> None:
    assert holm_adjusted(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_holm_takes_an_undefined_p_value_as_no_claim() -> None:
    assert holm_adjusted([math.nan, 0.01]) == [1.0, 0.02]
    assert holm_adjusted([]) == []


def comparison(broken: int, n: int = 1000) -> SliceComparison:
    candidate = np.ones(n)
    candidate[:broken] = 0
    return compare_slices(PairedSums.of(np.ones(n), np.ones(n), candidate, np.ones(n)), replicates=0)[0]


def test_a_weak_breach_among_many_slices_is_not_claimed() -> None:
    weak, strong, fine = comparison(25), comparison(80), comparison(0)
    assert (weak.verdict, strong.verdict, fine.verdict) == ("BREACH", "BREACH", "PASS")
    assert family_verdicts([weak]) == ["BREACH"]
    many = [weak, strong, *[fine] * 30]
    assert family_verdicts(many) == ["INCONCLUSIVE", "BREACH", *["PASS"] * 30]
    assert [release_verdict(family) for family in (["PASS", "PASS"], ["PASS", "INCONCLUSIVE"], [])] == [
        "PASS",
        "INCONCLUSIVE",
        "INCONCLUSIVE",
    ]
    assert release_verdict(family_verdicts(many)) == "BREACH"
    assert family_verdicts([replace(weak, p_breach=math.nan)]) == ["INCONCLUSIVE"]


def test_overlap_is_the_share_of_samples_held_elsewhere() -> None:
    slices = {"a": np.arange(4), "b": np.arange(3, 5), "c": np.arange(8, 10), "empty": np.arange(0)}
    assert shared_with_others(slices, 10) == {"a": 0.25, "b": 0.5, "c": 0.0, "empty": 0.0}


def error_run(n: int, seed: int = 1) -> PairedSums:
    rng = np.random.default_rng(seed)
    length = rng.integers(5, 60, n).astype(float)
    baseline = rng.binomial(length.astype(int), 0.06).astype(float)
    candidate = np.clip(baseline + (rng.random(n) < 0.2) * rng.integers(-2, 4, n), 0, length)
    half = np.flatnonzero(rng.random(n) < 0.4)
    return PairedSums.of(baseline, length, candidate, length, kind="error", slices={"all": np.arange(n), "half": half})


@pytest.mark.parametrize("n", [400, 20_000])
def test_bootstrap_equals_a_plain_loop_over_clusters(n: int) -> None:
    run = error_run(n)
    values = [cluster_values(run, members) for members in run.slices.values()]
    losses = bootstrap_losses(values, n, "relative", 4000, seed=3)
    assert losses.shape == (2, 4000)
    rng = np.random.default_rng(0)
    for row, members in zip(losses, run.slices.values(), strict=True):
        plain = []
        for _ in range(1500):
            drawn = members[rng.integers(0, members.size, members.size)]
            right_b = 1 - run.num_baseline[drawn].sum() / run.den_baseline[drawn].sum()
            right_c = 1 - run.num_candidate[drawn].sum() / run.den_candidate[drawn].sum()
            plain.append((right_b - right_c) / right_b)
        spread = float(np.std(plain))
        assert float(row.mean()) == pytest.approx(float(np.mean(plain)), abs=0.1 * spread)
        # Spreads: 2 % from the replicates and 2 % from the units (n above MOST_UNITS); three of these.
        assert float(row.std()) == pytest.approx(spread, rel=0.09)
    assert (n > MOST_UNITS) == (n == 20_000)


def test_bootstrap_repeats_with_its_seed_and_can_be_left_out() -> None:
    run = error_run(300)
    one, same, other = (compare_slices(run, seed=seed)[0] for seed in (1, 1, 2))
    assert one == same and one.bootstrap_low != other.bootstrap_low and one.low == other.low
    assert one.bootstrap_low < one.loss < one.bootstrap_high
    assert math.isnan(compare_slices(run, replicates=0)[0].bootstrap_high)


def test_replicates_without_a_baseline_quality_are_left_out() -> None:
    ones = np.ones(3)
    run = PairedSums.of([1, 0, 0], ones, [1, 0, 0], ones)
    losses = bootstrap_losses([cluster_values(run, np.arange(3))], 3, "relative", 500, seed=0)
    assert 0 < np.isnan(losses).sum() < 500
    assert percentile_intervals(losses, 0.95).tolist() == [[0.0, 0.0]]
    assert np.isnan(percentile_intervals(np.full((1, 4), np.nan), 0.95)).all()


def test_plans_grow_with_flips_and_shrink_with_the_distance_to_the_budget() -> None:
    needed = [plan_rates(0.9, flip_rate=flips).needed_clusters or 0 for flips in (0.0, 0.01, 0.05, 0.1)]
    assert needed == sorted(needed) and needed[0] >= 281
    assert plan_rates(0.9, flip_rate=0.0).minimum_clusters == 281
    nearer = plan_rates(0.9, flip_rate=0.02, loss=0.01)
    assert (nearer.needed_clusters or 0) > 3 * (plan_rates(0.9, flip_rate=0.02).needed_clusters or 0)
    breach = plan_rates(0.9, flip_rate=0.05, loss=0.04)
    assert (breach.needed_clusters or 0) < (nearer.needed_clusters or 0)
    assert plan_rates(0.9, flip_rate=0.05, loss=0.015).needed_clusters is None


def test_a_plan_from_a_run_equals_the_plan_from_its_rates() -> None:
    right = np.repeat([1.0, 0.0], [450, 50])
    ones = np.ones(500)
    run = PairedSums.of(right, ones, right, ones)
    (plan,) = plan_run(run, flip_rate=0.05)
    rates = plan_rates(0.9, flip_rate=0.05)
    assert plan.needed_clusters == pytest.approx(rates.needed_clusters, rel=0.02)
    assert plan.present_clusters == 500 and plan.missing_clusters == (plan.needed_clusters or 0) - 500


def test_a_ratio_metric_needs_more_clusters_for_larger_changes() -> None:
    run = error_run(600)
    small, large = (plan_run(run, flip_rate=0.2, change=change)[0] for change in (0.05, 0.5))
    assert (large.needed_clusters or 0) > (small.needed_clusters or 0) > 200
    empty = PairedSums.of([0.0], [0.0], [0.0], [0.0])
    assert plan_run(empty, flip_rate=0.1)[0].needed_clusters is None
    assert plan_run(empty, flip_rate=0.1)[0].missing_clusters is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quality": 0.0, "flip_rate": 0.1}, "quality must be"),
        ({"quality": 0.9, "flip_rate": 1.5}, "flip_rate must be"),
        ({"quality": 0.9, "flip_rate": 0.1, "power": 0.2}, "power must be"),
        ({"quality": 0.9, "flip_rate": 0.01, "loss": 0.05}, "impossible"),
    ],
)
def test_impossible_plans_are_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan_rates(**arguments)  # type: ignore[arg-type]


def test_impossible_plans_from_a_run_are_refused() -> None:
    with pytest.raises(ValueError, match="change must be"):
        plan_run(error_run(50), flip_rate=0.1, change=0.0)
    with pytest.raises(ValueError, match="cannot produce"):
        plan_run(error_run(50), flip_rate=0.01, loss=0.05, change=0.1)
