"""How many clusters a slice needs for a verdict, before the candidate is run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from tliveomni_eval.evals.statistics.cluster_numbers import clusters_to_decide, minimum_clusters
from tliveomni_eval.evals.statistics.cluster_values import ClusterValues, cluster_values
from tliveomni_eval.evals.statistics.comparison import LossKind
from tliveomni_eval.evals.statistics.paired_slices import PairedSums
from tliveomni_eval.evals.statistics.slice_stack import SliceStack

_PLANNED_CLUSTERS = 10_000


@dataclass(frozen=True, slots=True)
class SlicePlan:
    """The clusters that one slice needs.

    Attributes:
        slice: Name of the slice; empty for given rates.
        quality: Quality of the baseline, 0..1.
        loss: True loss supposed, on the scale of the budget.
        flip_rate: Share of clusters supposed to change, either way.
        present_clusters: Clusters that the run has; 0 for given rates.
        minimum_clusters: Fewest that could PASS if none changed; None where no number could.
        needed_clusters: Number with which a verdict is reached with the power asked for; None where none would do.
    """

    slice: str
    quality: float
    loss: float
    flip_rate: float
    present_clusters: int
    minimum_clusters: int | None
    needed_clusters: int | None

    @property
    def missing_clusters(self) -> int | None:
        """Clusters to add to the present ones."""
        return None if self.needed_clusters is None else max(0, self.needed_clusters - self.present_clusters)


def plan_rates(
    quality: float,
    *,
    flip_rate: float,
    loss: float = 0.0,
    budget: float = 0.015,
    loss_kind: LossKind = "relative",
    confidence: float = 0.95,
    power: float = 0.8,
) -> SlicePlan:
    """Clusters for right-or-wrong samples of a given quality.

    Args:
        quality: Share of clusters that the baseline gets right, above 0 and at most 1.
        flip_rate: Share of clusters supposed to change, either way; at least what the loss takes.
        loss: True loss supposed.
        budget: Largest loss allowed.
        loss_kind: Scale of `loss` and `budget`.
        confidence: Level of the interval.
        power: Probability of a verdict, above 0.5 and below 1.

    Raises:
        ValueError: A rate out of range, or a loss that the flips cannot produce.
    """
    _check(quality, flip_rate, power)
    difference = {"relative": quality, "absolute": 1.0, "relative_error": 1 - quality}[loss_kind] * loss
    worse, better = (flip_rate + difference) / 2, (flip_rate - difference) / 2
    cells = np.array([quality - worse, worse, better, 1 - quality - better])
    if (cells < -1e-12).any():
        raise ValueError(
            f"a quality of {quality:g} with a flip rate of {flip_rate:g} and a {loss_kind} loss of {loss:g} is "
            f"impossible: {worse:g} of the clusters would turn wrong and {better:g} right"
        )
    values = ClusterValues(
        np.array([1.0, 1.0, 0.0, 0.0]),
        np.array([1.0, 0.0, 1.0, 0.0]),
        np.ones(4),
        np.maximum(cells, 0.0) * _PLANNED_CLUSTERS,
    )
    return _plan("", values, 0, loss, flip_rate, budget, loss_kind, confidence, power)


def plan_run(
    run: PairedSums,
    *,
    flip_rate: float,
    loss: float = 0.0,
    change: float = 1.0,
    budget: float = 0.015,
    loss_kind: LossKind = "relative",
    confidence: float = 0.95,
    power: float = 0.8,
) -> list[SlicePlan]:
    """Clusters that each slice of one run needs, from its clusters' sizes and qualities.

    Args:
        run: The baseline run; give its counts as those of the candidate too.
        flip_rate: Share of clusters supposed to change, either way.
        loss: True loss supposed, on the relative scale.
        change: Share of its quality that a changed cluster of a ratio metric loses or gains, above 0 and at most 1.
        budget: Largest loss allowed.
        loss_kind: Scale of `budget`.
        confidence: Level of the interval.
        power: Probability of a verdict, above 0.5 and below 1.

    Raises:
        ValueError: A rate out of range, or a loss that the flips cannot produce.
    """
    if not 0 < change <= 1:
        raise ValueError(f"change must be above 0 and at most 1, got {change!r}")
    plans = []
    for name, members in run.slices.items():
        values = cluster_values(run, members)
        if not values.n_clusters or not values.quality[0] > 0:
            plans.append(SlicePlan(name, math.nan, loss, flip_rate, values.n_clusters, None, None))
            continue
        quality = values.quality[0]
        _check(min(quality, 1.0), flip_rate, power)
        supposed = _supposed(values, flip_rate, loss, 1.0 if values.right_or_wrong else change)
        plans.append(_plan(name, supposed, values.n_clusters, loss, flip_rate, budget, loss_kind, confidence, power))
    return plans


def _supposed(values: ClusterValues, flip_rate: float, loss: float, change: float) -> ClusterValues:
    """The clusters of one run beside a candidate in which the supposed shares of them change.

    Right-or-wrong clusters fall from 1 to 0 and rise from 0 to 1; others fall and rise by the share `change`.
    """
    quality = values.quality[0]
    fall = (flip_rate + loss * quality) / 2 / quality if values.right_or_wrong else (flip_rate + loss / change) / 2
    rise = flip_rate - fall * quality if values.right_or_wrong else flip_rate - fall
    if rise < -1e-12 or fall > 1:
        raise ValueError(f"a flip rate of {flip_rate:g} cannot produce a loss of {loss:g} with changes of {change:g}")
    rise = max(rise, 0.0)
    ones = np.ones(values.baseline.size)
    if values.right_or_wrong:
        right = values.baseline == 1
        rising = rise / (1 - quality) if quality < 1 else 0.0
        fallen, risen = np.where(right, 0.0, values.baseline), np.where(right, values.baseline, 1.0)
        shares = (np.where(right, fall, 0.0), np.where(right, 0.0, min(rising, 1.0)))
    else:
        fallen, risen = values.baseline * (1 - change), values.baseline * (1 + change)
        shares = (fall * ones, rise * ones)
    stay = ones - shares[0] - shares[1]
    baseline = np.tile(values.baseline, 3)
    candidate = np.concatenate((values.baseline, fallen, risen))
    multiplicity = np.concatenate((stay, *shares))
    kept = multiplicity > 0
    return ClusterValues(baseline[kept], candidate[kept], np.tile(values.size, 3)[kept], multiplicity[kept])


def _plan(
    name: str,
    values: ClusterValues,
    present: int,
    loss: float,
    flip_rate: float,
    budget: float,
    kind: LossKind,
    confidence: float,
    power: float,
) -> SlicePlan:
    stack = SliceStack.of([values])
    fewest = float(minimum_clusters(stack, budget, kind, confidence)[0])
    needed = float(clusters_to_decide(stack, budget, kind, confidence, power)[0])
    return SlicePlan(
        slice=name,
        quality=values.quality[0],
        loss=loss,
        flip_rate=flip_rate,
        present_clusters=present,
        minimum_clusters=int(fewest) if math.isfinite(fewest) else None,
        needed_clusters=int(needed) if math.isfinite(needed) else None,
    )


def _check(quality: float, flip_rate: float, power: float) -> None:
    limits: Mapping[str, tuple[float, bool]] = {
        "quality": (quality, 0 < quality <= 1),
        "flip_rate": (flip_rate, 0 <= flip_rate <= 1),
        "power": (power, 0.5 < power < 1),
    }
    for name, (value, fits) in limits.items():
        if not fits:
            allowed = "above 0.5 and below 1" if name == "power" else "between 0 and 1"
            raise ValueError(f"{name} must be {allowed}, got {value!r}")
