"""`compare_slices`: what a user of the release gate may rely on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tliveomni_eval.evals.metrics.set_payload import CategoryDetections, DetectionPayload, PooledDetections
from tliveomni_eval.evals.statistics.average_precision_influence import average_precision_influence
from tliveomni_eval.evals.statistics.cluster_values import cluster_values
from tliveomni_eval.evals.statistics.comparison import LossKind, SliceComparison
from tliveomni_eval.evals.statistics.inference import compare_slices
from tliveomni_eval.evals.statistics.paired_slices import PairedSums, SetMetricPair

KINDS: tuple[LossKind, ...] = ("relative", "absolute", "relative_error")


def binary(both: int, worse: int, better: int, neither: int = 0, **options: object) -> SliceComparison:
    baseline = np.repeat([1.0, 1.0, 0.0, 0.0], [both, worse, better, neither])
    candidate = np.repeat([1.0, 0.0, 1.0, 0.0], [both, worse, better, neither])
    ones = np.ones(baseline.size)
    return compare_slices(PairedSums.of(baseline, ones, candidate, ones), replicates=0, **options)[0]  # type: ignore[arg-type]


def error_counts(n: int, seed: int = 0, flips: float = 0.1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Reference lengths and the errors of two runs."""
    rng = np.random.default_rng(seed)
    length = rng.integers(5, 60, n).astype(float)
    baseline = rng.binomial(length.astype(int), 0.05).astype(float)
    changed = rng.random(n) < flips
    candidate = np.clip(baseline + changed * rng.integers(-2, 4, n), 0, length)
    return length, baseline, candidate


@pytest.mark.parametrize(("n", "verdict"), [(60, "INCONCLUSIVE"), (199, "INCONCLUSIVE"), (300, "PASS"), (5000, "PASS")])
def test_a_run_against_itself_has_no_loss_and_passes_only_if_large_enough(n: int, verdict: str) -> None:
    for found in (binary(n, 0, 0), _against_itself(n)):
        assert found.loss == 0
        assert found.low < 0 < found.high
        assert found.verdict == verdict or (found.method == "tilted score" and n == 300)
        assert found.worsened == found.improved == found.samples_worsened == found.samples_improved == 0
        assert found.mcnemar_p == found.mcnemar_p_degradation == 1


def _against_itself(n: int) -> SliceComparison:
    length, errors, _ = error_counts(n)
    return compare_slices(PairedSums.of(errors, length, errors, length, kind="error"))[0]


@pytest.mark.parametrize("quality", [1.0, 0.8])
def test_no_slice_under_about_200_clusters_can_pass_and_says_so(quality: float) -> None:
    right = round(199 * quality)
    found = binary(right, 0, 0, 199 - right)
    assert found.verdict == "INCONCLUSIVE" and not found.certifiable
    assert found.minimum_clusters is not None and 200 < found.minimum_clusters < 400
    assert f"at least {found.minimum_clusters}" in found.reason
    large_enough = math.ceil(found.minimum_clusters * right / 199)
    assert binary(large_enough, 0, 0, found.minimum_clusters - large_enough + 1).verdict == "PASS"


@pytest.mark.parametrize("kind", KINDS)
def test_gains_do_not_make_up_for_breakage_that_few_clusters_cannot_show(kind: LossKind) -> None:
    few = binary(130, 0, 20, loss_kind=kind)
    assert few.loss < -0.05 and few.verdict == "INCONCLUSIVE" and few.high > few.budget
    assert few.p_noninferiority > 0.025 and (few.further_clusters or 60) >= 60
    assert binary(390, 0, 60, 120, loss_kind="relative").verdict == "PASS"


def test_many_broken_clusters_breach() -> None:
    found = binary(900, 100, 0)
    assert found.verdict == "BREACH" and found.low > 0.015
    assert found.p_breach < 1e-6 and found.p_noninferiority > 0.99
    assert found.effect_size == 1 and found.worsened == 100 and found.further_clusters == 0


def test_one_destroyed_cluster_in_a_hundred_is_not_passed_by_a_ratio_metric() -> None:
    length, errors, _ = error_counts(150)
    candidate = errors.copy()
    candidate[3] = length[3]
    found = compare_slices(PairedSums.of(errors, length, candidate, length, kind="error"))[0]
    assert found.verdict == "INCONCLUSIVE"
    assert found.high > 3 / 150


@given(
    st.integers(20, 400), st.integers(0, 25), st.integers(0, 25), st.integers(0, 60), st.sampled_from(KINDS),
    st.floats(0.8, 0.99),
)  # fmt: skip
@settings(max_examples=80, deadline=None)
def test_interval_estimate_and_tests_agree(
    both: int, worse: int, better: int, neither: int, kind: LossKind, confidence: float
) -> None:
    found = binary(both, worse, better, neither, loss_kind=kind, confidence=confidence, budget=0.02)
    if math.isnan(found.loss):
        assert (kind == "relative_error" and worse == 0) or both + worse == 0 or worse + both == both + worse
        assert found.verdict == "INCONCLUSIVE" and found.reason
        return
    assert found.low <= found.loss <= found.high
    tail = (1 - confidence) / 2
    assert (found.p_noninferiority <= tail) == (found.high <= 0.02)
    assert (found.p_breach <= tail) <= (found.low > 0.02)


@pytest.mark.filterwarnings("error")
@given(st.integers(0, 10_000), st.sampled_from(KINDS), st.sampled_from(["quality", "error"]))
@settings(max_examples=150, deadline=None)
def test_any_finite_counts_give_consistent_claims_without_a_warning(seed: int, kind: LossKind, of: str) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 3, 5, 40, 700]))
    den = rng.choice(np.array([np.ones(n), rng.integers(0, 20, n), rng.random(n) * 10.0 ** rng.integers(-8, 9)]))
    rates = rng.choice(np.array([rng.random(n), rng.integers(0, 2, n), np.ones(n), 3 * rng.normal(size=n)]))
    other = np.where(rng.random(n) < rng.random(), rates, rng.random(n) * rng.integers(0, 3))
    cluster = rng.integers(0, max(1, n // 2), n)
    paired = PairedSums.of(den * rates, den, den * other, den, cluster=cluster, kind=of)  # type: ignore[arg-type]
    budget = float(rng.choice([0, 0.001, 0.015, 0.3]))
    (found,) = compare_slices(paired, budget=budget, loss_kind=kind, replicates=20)
    if math.isnan(found.loss):
        assert found.verdict == "INCONCLUSIVE" and found.reason
        return
    assert (found.p_noninferiority <= 0.02500001) == (found.verdict == "PASS")
    assert (found.p_breach <= 0.02500001) == (found.verdict == "BREACH") or found.low == budget
    assert not found.low > found.loss + 1e-9 * (1 + abs(found.loss))
    assert not found.high < found.loss - 1e-9 * (1 + abs(found.loss))


def test_all_correct_of_an_error_metric_is_a_cluster_without_errors() -> None:
    errors = np.array([0.0, 0.0, 0.0, 2.0] * 50)
    cluster = np.repeat(np.arange(100), 2)
    words = np.full(200, 5.0)
    paired = PairedSums.of(errors, words, errors, words, cluster=cluster, kind="error", statistic="all_correct")
    assert compare_slices(paired)[0].quality_baseline == 0.5


@given(st.integers(1, 20), st.integers(0, 20))
@settings(max_examples=30, deadline=None)
def test_a_worse_candidate_has_a_higher_interval(worse: int, better: int) -> None:
    one, other = binary(400 - worse, worse, better, 50), binary(400 - worse - 1, worse + 1, better, 50)
    assert other.low > one.low and other.high > one.high and other.p_noninferiority > one.p_noninferiority


def test_an_error_rate_is_the_quality_of_what_is_right() -> None:
    length, baseline, candidate = error_counts(700)
    error = compare_slices(PairedSums.of(baseline, length, candidate, length, kind="error"))[0]
    right = compare_slices(PairedSums.of(length - baseline, length, length - candidate, length))[0]
    for name in ("loss", "low", "high", "p_breach", "worsened", "samples_improved", "bootstrap_low"):
        assert getattr(error, name) == pytest.approx(getattr(right, name), rel=1e-9)
    assert error.quality_baseline == pytest.approx(1 - baseline.sum() / length.sum())


def test_samples_of_one_cluster_count_as_one_observation() -> None:
    length, baseline, candidate = error_counts(300)
    once = compare_slices(PairedSums.of(baseline, length, candidate, length, kind="error"))[0]
    thrice = [np.repeat(array, 3) for array in (baseline, length, candidate, length)]
    tripled = PairedSums.of(*thrice, kind="error", cluster=np.repeat(np.arange(300), 3))
    again = compare_slices(tripled)[0]
    assert (again.low, again.high) == pytest.approx((once.low, once.high), rel=1e-6)
    assert again.n_samples == 900 and again.n_clusters == 300 and again.worsened == once.worsened
    independent = compare_slices(PairedSums.of(*thrice, kind="error"))[0]
    assert independent.high - independent.low < 0.8 * (once.high - once.low)


@pytest.mark.parametrize("labels", ["sparse", "strings"])
def test_cluster_labels_may_be_anything(labels: str) -> None:
    length, baseline, candidate = error_counts(400)
    cluster = np.arange(400) // 2
    named = cluster * 1000 + 7 if labels == "sparse" else np.array([f"stream {value}" for value in cluster])
    members = {"odd": np.arange(1, 400, 2), "some": np.arange(50, 90)}
    plain, other = (
        compare_slices(PairedSums.of(baseline, length, candidate, length, kind="error", cluster=c, slices=members))
        for c in (cluster, named)
    )
    assert [(found.loss, found.low, found.high) for found in plain] == [
        (found.loss, found.low, found.high) for found in other
    ]


def test_all_correct_needs_every_sample_of_the_cluster() -> None:
    hits_b = np.array([[1, 1, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1]] * 100, dtype=float).reshape(-1)
    hits_c = hits_b.copy()
    hits_c[0] = 0
    cluster = np.repeat(np.arange(300), 4)
    ones = np.ones(hits_b.size)
    paired = PairedSums.of(hits_b, ones, hits_c, ones, cluster=cluster, statistic="all_correct")
    found = compare_slices(paired)[0]
    assert found.quality_baseline == pytest.approx(2 / 3)
    assert found.quality_candidate == pytest.approx(199 / 300)
    assert found.n_clusters == 300 and (found.worsened, found.improved) == (1, 0) and found.samples_worsened == 1
    assert found.method.startswith("score")


def test_unequal_denominators_are_linearised_around_the_two_rates() -> None:
    rng = np.random.default_rng(3)
    den_b, den_c = rng.integers(3, 9, (2, 500)).astype(float)
    num_b, num_c = rng.binomial(den_b.astype(int), 0.9) * 1.0, rng.binomial(den_c.astype(int), 0.9) * 1.0
    found = compare_slices(PairedSums.of(num_b, den_b, num_c, den_c), loss_kind="absolute")[0]
    assert found.quality_candidate == pytest.approx(num_c.sum() / den_c.sum())
    influence = (num_b - found.quality_baseline * den_b) / den_b.mean()
    influence -= (num_c - found.quality_candidate * den_c) / den_c.mean()
    standard_error = influence.std() / math.sqrt(500)
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * standard_error, rel=0.05)


def test_pooling_nearly_equal_clusters_does_not_change_a_result() -> None:
    length, baseline, candidate = error_counts(6000, flips=0.3)
    candidate[:40] = length[:40]
    values = cluster_values(PairedSums.of(baseline, length, candidate, length, kind="error"), np.arange(6000))
    pooled = values.pooled(0.015, "relative")
    assert pooled.baseline.size < 1200 and pooled.n_clusters == 6000
    assert pooled.quality == pytest.approx(values.quality, rel=1e-12)
    from tliveomni_eval.evals.statistics.loss_interval import loss_interval
    from tliveomni_eval.evals.statistics.slice_stack import SliceStack

    few, all_rows = (loss_interval(SliceStack.of([v]), "relative", 0.95) for v in (pooled, values))
    width = float(all_rows[1][0] - all_rows[0][0])
    for end in range(2):
        assert float(few[end][0]) == pytest.approx(float(all_rows[end][0]), abs=2e-3 * width)


def test_a_slice_does_not_depend_on_the_others() -> None:
    length, baseline, candidate = error_counts(900)
    slices = {"small": np.arange(0, 60), "large": np.arange(0, 900), "binary": np.arange(60, 500)}
    paired = PairedSums.of(baseline, length, candidate, length, kind="error", slices=slices)
    together = compare_slices(paired)
    for name, found in zip(slices, together, strict=True):
        alone = PairedSums.of(baseline, length, candidate, length, kind="error", slices={name: slices[name]})
        single = compare_slices(alone)[0]
        assert (single.slice, single.n_samples) == (found.slice, found.n_samples)
        assert (single.low, single.high) == pytest.approx((found.low, found.high), abs=1e-6)


def test_inconclusive_says_how_many_clusters_would_decide_it() -> None:
    found = binary(960, 22, 18)
    assert found.verdict == "INCONCLUSIVE" and found.further_clusters is not None
    factor = (found.n_clusters + found.further_clusters) / found.n_clusters
    larger = binary(*(round(count * factor) for count in (960, 22, 18)))
    assert larger.verdict == "PASS"
    on_budget = binary(9850, 150, 0)
    assert on_budget.verdict == "INCONCLUSIVE" and on_budget.further_clusters is None


@pytest.mark.parametrize("kind", KINDS)
def test_undefined_losses_are_inconclusive_with_a_reason(kind: LossKind) -> None:
    ones, zeros = np.ones(5), np.zeros(5)
    nothing = compare_slices(PairedSums.of(zeros, zeros, zeros, zeros), loss_kind=kind)[0]
    assert nothing.verdict == "INCONCLUSIVE" and "nothing was counted" in nothing.reason and nothing.n_clusters == 0
    flat = compare_slices(PairedSums.of(zeros if kind != "relative_error" else ones, ones, ones, ones), loss_kind=kind)
    if kind != "absolute":
        assert math.isnan(flat[0].loss) and "not above 0" in flat[0].reason
    empty = compare_slices(PairedSums.of([], [], [], [], slices={"none": []}), loss_kind=kind)[0]
    assert empty.n_samples == 0 and math.isnan(empty.flip_rate)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_baseline": [1, math.nan]}, r"num_baseline\[1\] is .*nan"),
        ({"den_candidate": [1, -1]}, r"den_candidate\[1\] is .*-1"),
        ({"num_candidate": [1, 2, 3]}, r"num_candidate has shape \(3,\)"),
        ({"cluster": [1]}, r"cluster has shape \(1,\)"),
        ({"slices": {"a": [5]}}, r"slice 'a' holds sample index 5"),
        ({"slices": {"a": [1, 1]}}, r"slice 'a' holds sample index 1 more than once"),
        ({"slices": {"a": [[0]]}}, r"slice 'a' must be a flat list"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, object], message: str) -> None:
    given_arrays: dict[str, object] = {
        name: [1, 1] for name in ("num_baseline", "den_baseline", "num_candidate", "den_candidate")
    }
    with pytest.raises(ValueError, match=message):
        PairedSums.of(**(given_arrays | arguments))  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"confidence": 0.3}, {"confidence": 1.0}, {"budget": -0.1}, {"budget": math.nan}])
def test_options_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        binary(10, 0, 0, **options)


class RankedDetections:
    """AP of ranked detections, with or without its derivative."""

    def __init__(self, matched: np.ndarray, sample: np.ndarray, references: np.ndarray) -> None:
        self.parts = (matched, sample, references)

    def weighted(self, weights: np.ndarray) -> float:
        return average_precision_influence(*self.parts, weights)[0]


class DifferentiableDetections(RankedDetections):
    def influence(self, weights: np.ndarray) -> np.ndarray:
        return average_precision_influence(*self.parts, weights)[1]


def detections(n: int, seed: int, lost: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ranked detections of n images, without those of the first `lost` images."""
    rng = np.random.default_rng(seed)
    references = rng.integers(1, 4, n).astype(float)
    image = np.concatenate((np.repeat(np.arange(n), references.astype(int)), rng.integers(0, n, n // 3)))
    matched = np.arange(image.size) < references.sum()
    order = np.argsort(-(rng.random(image.size) + 0.5 * matched), kind="stable")
    image, matched = image[order], matched[order]
    return matched[image >= lost], image[image >= lost], references


def test_influence_is_the_derivative_of_average_precision() -> None:
    matched, image, references = detections(40, 2)
    weights = np.random.default_rng(0).integers(0, 3, 40).astype(float)
    area, influence = average_precision_influence(matched, image, references, weights)
    for index in np.flatnonzero(weights):
        raised = weights.copy()
        raised[index] += 1e-6
        change = average_precision_influence(matched, image, references, raised)[0] - area
        assert influence[index] == pytest.approx(change / 1e-6, abs=1e-5)
    assert influence @ weights == pytest.approx(0, abs=1e-12)
    none = average_precision_influence(np.zeros(3, bool), np.zeros(3, int), np.ones(2), np.ones(2))
    assert none[0] == 0 and math.isnan(average_precision_influence(*detections(5, 1), np.zeros(5))[0])


def test_a_set_metric_is_compared_through_its_influence() -> None:
    n, zeros = 300, np.zeros(300)
    slices = {"all": np.arange(n), "even": np.arange(0, n, 2), "none": np.arange(0)}
    found = {}
    for kind in (DifferentiableDetections, RankedDetections):
        pair = SetMetricPair(kind(*detections(n, 4)), kind(*detections(n, 4, lost=30)))
        found[kind] = compare_slices(PairedSums.of(zeros, zeros, zeros, zeros, slices=slices, statistic=pair))
    exact, jackknife = found[DifferentiableDetections], found[RankedDetections]
    for a, b in zip(exact[:2], jackknife[:2], strict=True):
        assert a.loss == pytest.approx(b.loss, abs=1e-12) and a.loss == pytest.approx(0.1, abs=0.03)
        assert (b.low, b.high) == pytest.approx((a.low, a.high), abs=0.15 * (a.high - a.low))
        assert a.verdict == "BREACH" and a.worsened > a.improved
    assert "nothing was counted" in exact[2].reason


def test_pooled_detections_know_their_influence() -> None:
    rng = np.random.default_rng(1)
    payloads = []
    for _ in range(60):
        references = int(rng.integers(1, 4))
        scores = sorted(rng.random(references + 1).tolist(), reverse=True)
        matched = tuple(rng.integers(0, 4, references + 1).tolist())
        item = CategoryDetections(tuple(scores), matched, (0,) * (references + 1), references)
        categories = {"cup": item} if rng.random() < 0.7 else {"cup": item, "hand": item}
        payloads.append(DetectionPayload(categories, 2))
    pool = PooledDetections(payloads, interpolation="every_point")
    weights = rng.integers(1, 3, 60).astype(float)
    influence = pool.influence(weights)
    for index in range(0, 60, 7):
        raised = weights.copy()
        raised[index] += 1e-5
        change = pool.average_precision([raised, weights]).mean(axis=1)
        assert influence[index] == pytest.approx((change[0] - change[1]) / 1e-5, abs=1e-4)


def test_a_set_metric_of_many_clusters_is_left_out_in_groups() -> None:
    n, zeros = 800, np.zeros(800)
    pair = SetMetricPair(RankedDetections(*detections(n, 4)), RankedDetections(*detections(n, 4, lost=40)))
    exact = SetMetricPair(
        DifferentiableDetections(*detections(n, 4)), DifferentiableDetections(*detections(n, 4, lost=40))
    )
    grouped, single = (
        compare_slices(PairedSums.of(zeros, zeros, zeros, zeros, statistic=statistic))[0] for statistic in (pair, exact)
    )
    assert grouped.n_clusters == n and grouped.loss == pytest.approx(single.loss, abs=1e-12)
    assert grouped.high - grouped.low == pytest.approx(single.high - single.low, rel=0.35)
