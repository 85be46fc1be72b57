"""What the comparison of two runs on one slice found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

LossKind = Literal["relative", "absolute", "relative_error"]
"""`relative`: (Q_b − Q_c) / Q_b. `absolute`: Q_b − Q_c. `relative_error`: (E_c − E_b) / E_b with E = 1 − Q."""

Verdict = Literal["PASS", "BREACH", "INCONCLUSIVE"]


@dataclass(frozen=True, slots=True)
class SliceComparison:
    """One slice of a baseline run against a candidate run.

    Attributes:
        slice: Name of the slice.
        n_samples: Paired samples in the slice.
        n_clusters: Independent clusters among them: what the error rates rest on.
        quality_baseline: Q of the baseline, higher is better; NaN where nothing was counted.
        quality_candidate: Q of the candidate.
        loss: Point estimate of the loss of kind `loss_kind`; positive means that the candidate is worse. NaN where
            it is undefined (`reason` says why).
        low: Lower end of the two-sided interval for the loss.
        high: Upper end of the interval.
        bootstrap_low: Lower end of the cluster bootstrap's percentile interval, a cross-check that no verdict rests on:
            it is too narrow where few clusters carry the loss. NaN without replicates.
        bootstrap_high: Upper end of the same.
        confidence: Level of the interval, 0..1; each end has error (1 − confidence) / 2.
        budget: Largest loss allowed.
        loss_kind: Scale of `loss`, `low`, `high` and `budget`.
        method: Name of the interval's method.
        p_noninferiority: p value against "the loss is at least the budget" (small: the candidate is good enough).
        p_breach: p value against "the loss is at most the budget" (small: the candidate is too bad); the one that
            Holm's correction takes.
        worsened: Clusters whose quality fell; for a set metric, whose influence on it fell by more than 0.01 a cluster.
        improved: Clusters whose quality rose.
        samples_worsened: Samples whose quality fell (flips from right to wrong where the outcome is binary).
        samples_improved: Samples whose quality rose.
        mcnemar_p: Exact two-sided p value of "as many clusters fell as rose": McNemar's exact test where a cluster is
            one right-or-wrong sample, the sign test otherwise.
        mcnemar_p_degradation: The same, one-sided: small where more fell than rose.
        effect_size: (worsened − improved) / (worsened + improved), −1..1 (twice Cohen's g); 0 without discordance.
        standardised_loss: Mean change of quality a cluster over its standard deviation (Cohen's d_z); 0 without
            discordance.
        further_clusters: Clusters to add for an 80 % chance of a verdict if the loss stays what it seems; 0 where there
            is a verdict, None where no number would do (the estimate lies on the budget) or none can be computed.
        certifiable: Whether this many clusters could PASS at all, had none of them changed.
        minimum_clusters: Fewest clusters that could PASS this budget, had none changed; None where no number could.
        reason: Why the loss is undefined or not certifiable, in words; empty otherwise.
    """

    slice: str
    n_samples: int
    n_clusters: int
    quality_baseline: float
    quality_candidate: float
    loss: float
    low: float
    high: float
    bootstrap_low: float
    bootstrap_high: float
    confidence: float
    budget: float
    loss_kind: LossKind
    method: str
    p_noninferiority: float
    p_breach: float
    worsened: int
    improved: int
    samples_worsened: int
    samples_improved: int
    mcnemar_p: float
    mcnemar_p_degradation: float
    effect_size: float
    standardised_loss: float
    further_clusters: int | None
    certifiable: bool
    minimum_clusters: int | None
    reason: str = ""

    @property
    def verdict(self) -> Verdict:
        """PASS if the whole interval is at most the budget, BREACH if all of it is above, INCONCLUSIVE otherwise.

        Before the correction for several slices: see `multiplicity.family_verdicts`.
        """
        return interval_verdict(self.low, self.high, self.budget)

    @property
    def flip_rate(self) -> float:
        """Share of samples whose quality changed, either way."""
        return (self.samples_worsened + self.samples_improved) / self.n_samples if self.n_samples else math.nan


def interval_verdict(low: float, high: float, budget: float) -> Verdict:
    """The verdict of one interval; an undefined interval (NaN) is INCONCLUSIVE.

    >>> interval_verdict(-0.01, 0.01, 0.015), interval_verdict(0.016, 0.03, 0.015), interval_verdict(0.01, 0.02, 0.015)
    ('PASS', 'BREACH', 'INCONCLUSIVE')
    """
    if high <= budget:
        return "PASS"
    if low > budget:
        return "BREACH"
    return "INCONCLUSIVE"
