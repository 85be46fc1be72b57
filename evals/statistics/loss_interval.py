"""Claims about the loss of each slice: the two one-sided tests, and the interval that inverts them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.statistics.cluster_values import SMALLEST_DIVISOR
from tliveomni_eval.evals.statistics.comparison import LossKind
from tliveomni_eval.evals.statistics.exact_tests import share_possible_if_none_seen
from tliveomni_eval.evals.statistics.paired_slices import FloatArray
from tliveomni_eval.evals.statistics.slice_stack import SliceStack
from tliveomni_eval.evals.statistics.tilted_score import TiltedScore

_NORMAL = NormalDist()
_DOUBLINGS = 40
_LARGEST = 1e6
_REFINEMENTS = 60


@dataclass(frozen=True, slots=True)
class ClaimScores:
    """Normal scores of the two claims about "the loss is θ", one an entry of the batch.

    Attributes:
        below: At most −z where the loss can be claimed to be below θ.
        above: At least z where the loss can be claimed to be above θ.
    """

    below: FloatArray
    above: FloatArray


def critical_score(confidence: float) -> float:
    """Z of a two-sided interval: 1.96 at 0.95."""
    return _NORMAL.inv_cdf((1 + confidence) / 2)


def claim_scores(
    stack: SliceStack, loss: FloatArray, kind: LossKind, multiple: FloatArray | None = None
) -> ClaimScores:
    """Test "the loss is θ" in both directions, each with the more cautious of two statistics.

    A claim needs the score and the skewness-corrected score (`tilted_score`). Alone, the first claims a breach too
    often and the second a pass, when few clusters changed; together they hold their error rates. Values that are
    not merely right or wrong may also claim a breach by the studentised mean: it keeps its error rate there, because
    losses are skewed towards the destroyed clusters, and it is less cautious where a few changes are large.

    Args:
        stack: The slices.
        loss: θ, one a slice.
        kind: Scale of θ.
        multiple: Count every cluster this many times, for planning; omitted, once.
    """
    return claims_of(stack.score(loss, kind, multiple), stack.right_or_wrong)


def claims_of(found: TiltedScore, right_or_wrong: NDArray[np.bool_]) -> ClaimScores:
    """The claims that these statistics allow; see `claim_scores`."""
    above = np.minimum(found.score, found.corrected)
    # Without any spread the studentised mean is infinite and tells nothing.
    usable = ~right_or_wrong & np.isfinite(found.studentised)
    above = np.where(usable, np.maximum(above, found.studentised), above)
    below = np.maximum(found.score, found.corrected)
    return ClaimScores(below=np.clip(below, -_LARGEST, _LARGEST), above=np.clip(above, -_LARGEST, _LARGEST))


def loss_interval(stack: SliceStack, kind: LossKind, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper end of each slice's two-sided interval for the loss.

    Returns:
        Two arrays of shape (slices,); ±inf where no loss on that side can be excluded.
    """
    critical = critical_score(confidence)
    estimate = stack.loss(kind)
    count = stack.n_clusters
    error = stack.spread(stack.hypothesis(estimate, kind)) / np.sqrt(count)
    divisor = {
        "absolute": np.ones_like(estimate),
        "relative": stack.mean(stack.baseline),
        "relative_error": 1 - stack.mean(stack.baseline),
    }[kind]
    step = np.maximum(critical * error / divisor, 1 / count)
    high = _first_excluded(lambda loss: -claim_scores(stack, loss, kind).below - critical, estimate, step)
    low = _first_excluded(lambda loss: claim_scores(stack, loss, kind).above - critical, estimate, -step)
    return low, high


def unseen_loss(stack: SliceStack, kind: LossKind, confidence: float) -> FloatArray:
    """Loss that clusters destroyed at the largest share possible with none seen would cause, one a slice.

    Where it exceeds the budget nothing can PASS, not even a candidate that improved many clusters: the gains seen say
    nothing about the breakage that so few clusters cannot show.
    """
    quality = stack.mean(stack.baseline)
    share = share_possible_if_none_seen(stack.n_clusters, confidence)
    if kind == "relative":
        return share
    return share * (quality if kind == "absolute" else quality / np.maximum(1 - quality, SMALLEST_DIVISOR))


def _first_excluded(excess: Callable[[FloatArray], FloatArray], inside: FloatArray, step: FloatArray) -> FloatArray:
    """Where `excess` turns from negative (at `inside`) to positive: bracketing by doubling steps, then Illinois."""
    value_in = np.full_like(inside, -1.0)
    outside = inside + step
    value_out = excess(outside)
    for _ in range(_DOUBLINGS):
        short = value_out < 0
        if not short.any():
            break
        step = np.where(short, step * 2, step)
        inside, value_in = np.where(short, outside, inside), np.where(short, value_out, value_in)
        outside = np.where(short, outside + step, outside)
        value_out = np.where(short, excess(outside), value_out)
    never = value_out < 0
    last_side = np.zeros_like(inside)
    for _ in range(_REFINEMENTS):
        usable = value_out > value_in
        secant = (inside * value_out - outside * value_in) / np.where(usable, value_out - value_in, 1.0)
        middle = np.where(usable, secant, (inside + outside) / 2)
        value = excess(middle)
        beyond = value >= 0
        # Illinois: where the same end was kept twice, halve its value, so that the secant moves towards it.
        value_in = np.where(beyond, np.where(last_side == 1, value_in / 2, value_in), value)
        value_out = np.where(beyond, value, np.where(last_side == -1, value_out / 2, value_out))
        inside, outside = np.where(beyond, inside, middle), np.where(beyond, middle, outside)
        last_side = np.where(beyond, 1.0, -1.0)
        close = (np.abs(outside - inside) <= 1e-9 * (1 + np.abs(outside))) | (np.abs(value) < 1e-7)
        if np.all(close | never):
            outside = np.where(np.abs(value) < 1e-7, middle, outside)
            break
    return np.where(never, np.copysign(np.inf, step), outside)
