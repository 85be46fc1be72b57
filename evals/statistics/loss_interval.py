"""The interval for a slice's loss, by inverting the tilted score test, and the sample size that would decide it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from tliveomni_eval.evals.statistics.cluster_values import ClusterValues, loss_of
from tliveomni_eval.evals.statistics.comparison import LossKind
from tliveomni_eval.evals.statistics.tilted_score import tilted_score

_NORMAL = NormalDist()
_LARGEST_PLAN = 10**7


@dataclass(frozen=True, slots=True)
class TestStatistics:
    """Normal scores of one hypothesis "the loss is θ".

    Attributes:
        against_pass: At most −z where the loss can be claimed to be below θ.
        against_breach: At least z where the loss can be claimed to be above θ.
    """

    against_pass: float
    against_breach: float


def test_statistics(
    values: ClusterValues, loss: float, kind: LossKind, multiplicity: float | None = None
) -> TestStatistics:
    """Test "the loss is θ" in both directions, each with the more cautious of two statistics.

    A claim needs the score and the skewness-corrected score (`tilted_score`). Alone, the first claims a breach too
    often and the second a pass, when few clusters changed; together they hold their error rates. Values that are
    not merely right or wrong may also claim a breach by the studentised mean, which keeps its error rate there
    because losses are skewed towards the destroyed clusters, and is less cautious where a few changes are large.

    Args:
        values: The slice.
        loss: θ.
        kind: Scale of θ.
        multiplicity: Count every cluster this many times, for planning; omitted, once.
    """
    repeated = None if multiplicity is None else np.full((1, values.n_clusters), multiplicity)
    worst, best = values.extremes(loss, kind)
    found = tilted_score(values.hypothesis(loss, kind)[None], np.array([worst]), np.array([best]), repeated)
    score, corrected, studentised = (float(v[0]) for v in (found.score, found.corrected, found.studentised))
    breach = min(score, corrected)
    if not values.right_or_wrong:
        breach = max(breach, studentised)
    return TestStatistics(against_pass=max(score, corrected), against_breach=breach)


def loss_interval(values: ClusterValues, kind: LossKind, confidence: float) -> tuple[float, float]:
    """Lower and upper end of the two-sided interval for the loss; ±inf where no value on that side can be excluded."""
    critical = _NORMAL.inv_cdf((1 + confidence) / 2)
    estimate = loss_of(*values.quality, kind)
    spread = float(np.std(values.hypothesis(estimate, kind))) / math.sqrt(values.n_clusters)
    step = max(spread * critical, 1.0 / values.n_clusters)
    high = _first_excluded(lambda loss: -test_statistics(values, loss, kind).against_pass - critical, estimate, step)
    low = _first_excluded(lambda loss: test_statistics(values, loss, kind).against_breach - critical, estimate, -step)
    return low, high


def _first_excluded(excess: Callable[[float], float], inside: float, step: float) -> float:
    """Where `excess` turns from negative (at `inside`) to positive, walking by `step`: bracketing, then Illinois."""
    value_in = excess(inside)
    outside = inside + step
    for _ in range(40):
        value_out = excess(outside)
        if value_out >= 0:
            break
        inside, value_in = outside, value_out
        step *= 2
        outside = inside + step
    else:
        return math.copysign(math.inf, step)
    kept_side = 0
    for _ in range(60):
        if math.isinf(value_out) or math.isinf(value_in):
            middle = (inside + outside) / 2
        else:
            middle = (inside * value_out - outside * value_in) / (value_out - value_in)
        value = excess(middle)
        if value >= 0:
            outside, value_out = middle, value
            value_in = value_in / 2 if kept_side == 1 else value_in
            kept_side = 1
        else:
            inside, value_in = middle, value
            value_out = value_out / 2 if kept_side == -1 else value_out
            kept_side = -1
        if abs(outside - inside) <= 1e-9 * (1 + abs(outside)) or abs(value) < 1e-9:
            break
    return outside


def minimum_clusters(values: ClusterValues, budget: float, kind: LossKind, confidence: float) -> int | None:
    """Fewest clusters like these that could PASS if not one of them had changed; None where no number could."""
    unchanged = ClusterValues(values.baseline, values.baseline, values.size)
    reached = -test_statistics(unchanged, budget, kind).against_pass
    if not reached > 0:
        return None
    critical = _NORMAL.inv_cdf((1 + confidence) / 2)
    needed = math.ceil(values.n_clusters * (critical / reached) ** 2 * (1 - 1e-9))
    return needed if needed <= _LARGEST_PLAN else None


def further_clusters(
    values: ClusterValues, budget: float, kind: LossKind, confidence: float, power: float = 0.8
) -> int | None:
    """Clusters to add for this power to reach a verdict, if further clusters look like the ones seen.

    Returns:
        None where the estimate is so close to the budget that not even 10⁷ clusters would do.
    """
    critical, wanted = _NORMAL.inv_cdf((1 + confidence) / 2), _NORMAL.inv_cdf(power)
    passing = loss_of(*values.quality, kind) <= budget

    def decided(multiple: float) -> bool:
        found = test_statistics(values, budget, kind, multiplicity=multiple)
        reached = -found.against_pass if passing else found.against_breach
        # The statistic varies by about 1 between repetitions: by σ under the estimate over σ under the hypothesis.
        observed = tilted_spread(values, budget, kind, reached, multiple)
        return reached >= critical + wanted * observed

    low, high = 1.0, 2.0
    while not decided(high):
        low, high = high, high * 2
        if high * values.n_clusters > _LARGEST_PLAN:
            return None
    for _ in range(30):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if decided(middle) else (middle, high)
        if (high - low) * values.n_clusters < 1:
            break
    return max(1, math.ceil(high * values.n_clusters) - values.n_clusters)


def tilted_spread(values: ClusterValues, loss: float, kind: LossKind, reached: float, multiple: float) -> float:
    """Standard deviation of the score if the clusters are as observed: s / σ, since score = √n·mean / σ."""
    difference = values.hypothesis(loss, kind)
    mean, spread = abs(float(difference.mean())), float(difference.std())
    if reached <= 0 or mean == 0:
        return 1.0
    return spread * reached / (mean * math.sqrt(multiple * values.n_clusters))
