"""Verdicts over a family of slices: an intersection–union test for PASS, Holm's step-down for BREACH."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tliveomni_eval.evals.statistics.comparison import SliceComparison, Verdict


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values (Holm 1979), in the order given; NaN counts as 1.

    A claim with an adjusted value ≤ α may be made; the chance that any false claim is made stays ≤ α, whatever
    the dependence between the claims (overlapping slices included).

    >>> holm_adjusted([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    count = len(p_values)
    adjusted = [1.0] * count
    order = sorted(range(count), key=lambda index: np.nan_to_num(p_values[index], nan=1.0))
    running = 0.0
    for rank, index in enumerate(order):
        p_value = float(np.nan_to_num(p_values[index], nan=1.0))
        running = max(running, min(1.0, (count - rank) * p_value))
        adjusted[index] = running
    return adjusted


def family_verdicts(comparisons: Sequence[SliceComparison]) -> list[Verdict]:
    """One verdict a slice, with the BREACH claims of the family corrected by Holm's method.

    A BREACH that the correction does not let stand becomes INCONCLUSIVE; PASS needs no correction, because a release
    passes only where every slice does (intersection–union test, Berger 1982).
    """
    adjusted = holm_adjusted([comparison.p_breach for comparison in comparisons])
    verdicts: list[Verdict] = []
    for comparison, p_value in zip(comparisons, adjusted, strict=True):
        verdict = comparison.verdict
        if verdict == "BREACH" and p_value > (1 - comparison.confidence) / 2:
            verdict = "INCONCLUSIVE"
        verdicts.append(verdict)
    return verdicts


def release_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """BREACH if any slice breaches, PASS if every slice passes, INCONCLUSIVE otherwise (also without slices)."""
    if "BREACH" in verdicts:
        return "BREACH"
    return "PASS" if verdicts and all(verdict == "PASS" for verdict in verdicts) else "INCONCLUSIVE"
