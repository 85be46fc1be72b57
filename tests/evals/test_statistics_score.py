"""The score statistics against the published closed forms, scipy, statsmodels and brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar
from tliveomni_eval.evals.statistics.exact_tests import mcnemar_exact, share_possible_if_none_seen
from tliveomni_eval.evals.statistics.slice_stack import SliceStack
from tliveomni_eval.evals.statistics.tilted_score import tilted_score

TABLES = [(960, 30, 10, 0), (193, 5, 2, 0), (140, 7, 3, 50), (30, 12, 2, 0), (200, 0, 0, 56), (90, 0, 6, 4)]


def binary_stack(both: int, worse: int, better: int, neither: int) -> SliceStack:
    baseline, candidate = np.array([[1, 1, 0, 0.0]]), np.array([[1, 0, 1, 0.0]])
    counts = np.array([[both, worse, better, neither]], dtype=float)
    return SliceStack.of_arrays(baseline, candidate, np.ones((1, 4)), counts, right_or_wrong=np.array([True]))


def tango_score(both: int, worse: int, better: int, neither: int, difference: float) -> float:
    """Tango (1998), equation of the score statistic with the closed-form restricted estimate."""
    n = both + worse + better + neither
    a = 2 * n
    b = -worse - better + (2 * n - worse + better) * difference
    c = -better * difference * (1 - difference)
    restricted = (math.sqrt(b * b - 4 * a * c) - b) / (2 * a)
    return (worse - better - n * difference) / math.sqrt(n * (2 * restricted + difference * (1 - difference)))


def restricted_score(counts: np.ndarray, values: np.ndarray) -> float:
    """Score of E[values] = 0 from the most likely multinomial under that constraint, found by a general optimiser."""
    share = counts / counts.sum()

    def negative(p: np.ndarray) -> float:
        return -float(share @ np.log(np.maximum(p, 1e-300)))

    start = np.full(values.size, 1 / values.size)
    constraints = [{"type": "eq", "fun": lambda p: p.sum() - 1}, {"type": "eq", "fun": lambda p: p @ values}]
    found = optimize.minimize(
        negative,
        start,
        bounds=[(1e-12, 1)] * values.size,
        constraints=constraints,
        options={"maxiter": 500, "ftol": 1e-15},
    )
    variance = found.x @ values**2
    return math.sqrt(counts.sum()) * float(share @ values) / math.sqrt(variance)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("difference", [-0.03, 0.005, 0.015, 0.08])
def test_absolute_loss_of_binary_outcomes_is_tangos_score(table: tuple[int, int, int, int], difference: float) -> None:
    found = binary_stack(*table).score(np.array([difference]), "absolute").score[0]
    assert found == pytest.approx(tango_score(*table, difference), abs=1e-7)


@pytest.mark.parametrize("table", [table for table in TABLES if min(table) > 0] + [(500, 9, 4, 80), (60, 3, 8, 12)])
@pytest.mark.parametrize("loss", [0.015, 0.05])
def test_relative_loss_of_binary_outcomes_is_the_restricted_likelihood_score(
    table: tuple[int, int, int, int], loss: float
) -> None:
    found = binary_stack(*table).score(np.array([loss]), "relative").score[0]
    values = np.array([-loss, 1 - loss, -1.0, 0.0])
    assert found == pytest.approx(restricted_score(np.array(table, dtype=float), values), abs=2e-3)


def test_zero_discordant_pairs_leave_the_width_of_the_score_interval() -> None:
    n, z = 300, 1.959963984540054
    bound = z**2 / (n + z**2)
    scores = binary_stack(n, 0, 0, 0).score(np.array([bound]), "absolute")
    assert scores.score[0] == pytest.approx(-z, abs=1e-6)


@given(st.lists(st.floats(-1, 1).filter(lambda v: abs(v) > 1e-3), min_size=8, max_size=40))
@settings(max_examples=60, deadline=None)
def test_studentised_is_the_paired_t_statistic_on_a_normal_scale(values: list[float]) -> None:
    data = np.array(values)
    if data.std() < 1e-6:
        return
    extremes = np.full(1, 2.0)
    found = tilted_score(data[None], extremes, extremes).studentised[0]
    reference = stats.ttest_1samp(data, 0.0)
    normal = math.copysign(stats.norm.isf(max(reference.pvalue / 2, 1e-300)), reference.statistic)
    assert found == pytest.approx(normal, abs=0.02 + 0.004 * abs(normal))


@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=30),
    st.lists(st.integers(1, 6), min_size=30, max_size=30),
)
@settings(max_examples=80, deadline=None)
def test_multiplicity_equals_repetition(values: list[float], times: list[int]) -> None:
    data, count = np.array(values), np.array(times[: len(values)])
    worst, best = np.full(1, 1.2), np.full(1, 0.8)
    repeated = tilted_score(np.repeat(data, count)[None], worst, best)
    weighted = tilted_score(data[None], worst, best, count[None].astype(float))
    for name in ("score", "corrected", "studentised"):
        assert getattr(weighted, name)[0] == pytest.approx(getattr(repeated, name)[0], rel=1e-6, abs=1e-6)


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=40), st.floats(0.05, 30))
@settings(max_examples=60, deadline=None)
def test_scores_do_not_depend_on_the_unit(values: list[float], unit: float) -> None:
    data, extremes = np.array([values]), np.full(1, 1.5)
    plain, scaled = tilted_score(data, extremes, extremes), tilted_score(data * unit, extremes * unit, extremes * unit)
    assert scaled.score[0] == pytest.approx(plain.score[0], rel=1e-5, abs=1e-6)


def test_an_unseen_catastrophe_counts_only_where_the_data_cannot_meet_the_hypothesis() -> None:
    rng = np.random.default_rng(5)
    quiet, lively = rng.normal(-0.01, 1e-3, (1, 100)), rng.normal(-0.01, 0.5, (1, 100))
    small, large = np.array([0.5]), np.array([5.0])
    assert abs(tilted_score(quiet, large, small).score[0]) < abs(tilted_score(quiet, small, small).score[0])
    assert tilted_score(lively, small * 3, small).score[0] == tilted_score(lively, small, small).score[0]


@given(st.integers(0, 300), st.integers(0, 300))
@settings(max_examples=100, deadline=None)
def test_mcnemar_equals_statsmodels_and_scipy(worsened: int, improved: int) -> None:
    two_sided, degradation = mcnemar_exact(worsened, improved)
    reference = mcnemar([[7, worsened], [improved, 5]], exact=True)
    assert two_sided == pytest.approx(reference.pvalue, rel=1e-9, abs=1e-300)
    if worsened + improved:
        one_sided = stats.binomtest(worsened, worsened + improved, alternative="greater").pvalue
        assert degradation == pytest.approx(one_sided, rel=1e-9, abs=1e-300)


@given(st.integers(1, 100_000), st.floats(0.6, 0.999))
def test_share_possible_if_none_seen_is_the_exact_binomial_bound(clusters: int, confidence: float) -> None:
    share = float(share_possible_if_none_seen(clusters, confidence))
    assert stats.binom.pmf(0, clusters, share) == pytest.approx(1 - confidence, rel=1e-6)
    assert share_possible_if_none_seen(0) == 1.0
