"""What a table of slices shows, in words that the terminal, Markdown and JUnit share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tliveomni_eval.evals.gate.summary import percent
from tliveomni_eval.evals.gate.verdict import Outcome, SliceVerdict, Verdict

SYMBOLS: dict[Outcome, str] = {"PASS": "✔", "BREACH": "✘", "INCONCLUSIVE": "?", "MISSING": "∅"}


@dataclass(frozen=True, slots=True)
class Row:
    """One slice as text.

    Attributes:
        verdict: The slice it shows.
        word: Symbol and verdict word, with `waived` or `warning` where that applies.
        value: Metric in baseline and candidate.
        loss: Loss, positive is worse.
        interval: Both ends of its interval.
        budget: Budget with its scale.
        size: Clusters, and samples where these differ.
        flips: Samples that fell and rose.
        to_decide: What an INCONCLUSIVE slice needs.
    """

    verdict: SliceVerdict
    word: str
    value: str
    loss: str
    interval: str
    budget: str
    size: str
    flips: str
    to_decide: str

    @classmethod
    def of(cls, verdict: SliceVerdict) -> Row:
        """The texts of one slice."""
        return cls(
            verdict=verdict,
            word=_word(verdict),
            value=f"{percent(verdict.baseline_value, 1)} → {percent(verdict.candidate_value, 1)}",
            loss=percent(verdict.loss),
            interval=_interval(verdict),
            budget=_budget(verdict),
            size=_size(verdict),
            flips=f"{verdict.flips_worse} ↓ {verdict.flips_better} ↑",
            to_decide=_to_decide(verdict),
        )


def rows(verdict: Verdict) -> list[Row]:
    """A row for every slice, worst first."""
    return [Row.of(item) for item in verdict.slices]


def shared_budget(slices: Sequence[SliceVerdict]) -> str | None:
    """The budget of all slices in words, or None where they differ."""
    budgets = {_budget(verdict) for verdict in slices}
    return budgets.pop() if len(budgets) == 1 else None


def shared_confidence(slices: Sequence[SliceVerdict]) -> str:
    """The level of the intervals in words."""
    levels = sorted({verdict.rule.confidence for verdict in slices})
    return " / ".join(f"{100 * level:g} %" for level in levels)


def noise_text(verdict: SliceVerdict) -> str:
    """Flip rate of baseline against candidate beside that of baseline against baseline."""
    again = percent(verdict.noise.flip_rate, 1) if verdict.noise else "–"
    return f"{percent(verdict.flip_rate, 1)} | {again}"


def overlap_text(verdict: Verdict) -> str:
    """A remark where slices overlap; empty where they do not."""
    if verdict.memberships <= 1:
        return ""
    return f"Slices overlap: each sample lies in {verdict.memberships:.1f} of them on average, beside `all`."


def _word(verdict: SliceVerdict) -> str:
    word = f"{SYMBOLS[verdict.outcome]} {verdict.outcome}"
    if verdict.waiver is not None:
        return f"{word} (waived)"
    if not verdict.gated:
        return f"{word} (not gated)"
    if verdict.rule.tier == "warning":
        return f"{word} (warning)"
    return word


def _interval(verdict: SliceVerdict) -> str:
    if verdict.low is None and verdict.high is None:
        return "–"
    return f"{percent(verdict.low).removesuffix(' %')} … {percent(verdict.high)}"


def _budget(verdict: SliceVerdict) -> str:
    kinds = {"relative": "", "absolute": " points", "relative_error": " of the error"}
    return f"{100 * verdict.rule.budget:.3g} %{kinds[verdict.rule.loss]}"


def _size(verdict: SliceVerdict) -> str:
    if verdict.clusters == verdict.samples:
        return f"{verdict.samples:,}"
    return f"{verdict.samples:,} in {verdict.clusters:,}"


def _to_decide(verdict: SliceVerdict) -> str:
    if verdict.outcome != "INCONCLUSIVE":
        return ""
    if verdict.further_clusters:
        return f"+{verdict.further_clusters:,}"
    if not verdict.certifiable and verdict.minimum_clusters and verdict.minimum_clusters > verdict.clusters:
        return f"+{verdict.minimum_clusters - verdict.clusters:,} at least"
    return "–"
