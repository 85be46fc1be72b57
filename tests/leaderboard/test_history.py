from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint
from tliveomni_eval.leaderboard.history import Release, history, noise_half_width, regression_step, wilson_interval


def release(index: int, quality: float, n: int = 500, **environment: str) -> Release:
    return Release(f"{index:016x}", f"r{index}", f"2026-11-{index + 1:02d}T00:00:00", quality, n, environment)


@given(st.integers(1, 5000), st.floats(0, 1))
def test_wilson_equals_statsmodels(n: int, share: float) -> None:
    hits = round(share * n)
    expected = proportion_confint(hits, n, alpha=0.05, method="wilson")
    assert wilson_interval(hits / n, n, 0.95) == pytest.approx(expected, abs=1e-9)


def test_the_release_where_a_regression_began_is_named() -> None:
    rng = random.Random(4)
    qualities = [0.95 if index < 7 else 0.88 for index in range(12)]
    releases = [release(index, sum(rng.random() < q for _ in range(500)) / 500) for index, q in enumerate(qualities)]
    step = regression_step(releases)
    assert step is not None and step.index == 7
    assert step.before == pytest.approx(0.95, abs=0.02) and step.after == pytest.approx(0.88, abs=0.02)


def test_noise_alone_is_rarely_a_step() -> None:
    rng = random.Random(0)
    found = 0
    for _ in range(300):
        shares = [sum(rng.random() < 0.93 for _ in range(200)) / 200 for _ in range(10)]
        found += regression_step([release(index, share, n=200) for index, share in enumerate(shares)]) is not None
    assert found <= 6


def test_a_rise_is_no_regression() -> None:
    assert regression_step([release(index, 0.7 + 0.025 * index) for index in range(10)]) is None


@pytest.mark.parametrize("count", [0, 1])
def test_short_histories(count: int) -> None:
    made = history("w8a8", [release(index, 0.9) for index in range(count)])
    assert len(made.points) == count and made.step is None and made.noise is None


def test_noise_comes_from_repeated_backends_only() -> None:
    same = [release(0, 0.90, vllm="1"), release(1, 0.92, vllm="1")]
    assert noise_half_width(same) == pytest.approx(1.96 * 0.02 / 2**0.5, rel=1e-3)
    assert noise_half_width([release(0, 0.90, vllm="1"), release(1, 0.92, vllm="2")]) is None


def test_changes_of_the_environment_are_marked() -> None:
    made = history("w8a8", [release(0, 0.9, vllm="0.31"), release(1, 0.9, vllm="0.32"), release(2, 0.9, vllm="0.32")])
    assert [point.changes for point in made.points] == [[], ["vllm: 0.31 → 0.32"], []]
