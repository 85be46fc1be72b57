"""From judged slices to verdicts: the family of claims, waivers, tiers, and the outcome of the release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tliveomni_eval.evals.gate.pairing import WHOLE_TASK, PairedTask
from tliveomni_eval.evals.gate.policy import Policy, Rule
from tliveomni_eval.evals.gate.slice_judgement import UNPARSED, JudgedSlice
from tliveomni_eval.evals.gate.verdict import SEVERITY, Outcome, Problem, SliceVerdict
from tliveomni_eval.evals.statistics.multiplicity import family_verdicts


def slice_verdicts(judged: Sequence[JudgedSlice], policy: Policy) -> list[SliceVerdict]:
    """Verdicts over the whole family of slices.

    Args:
        judged: Every slice of every task; the gated ones are the family that Holm's method corrects.
        policy: The policy.
    """
    gated = [item for item in judged if item.gated]
    comparisons = [item.comparison for item in gated]
    corrected = family_verdicts(comparisons) if policy.multiplicity == "holm" else [c.verdict for c in comparisons]
    outcomes = {id(item): outcome for item, outcome in zip(gated, corrected, strict=True)}
    verdicts = [
        _slice_verdict(item, outcomes.get(id(item), item.comparison.verdict), len(gated), policy) for item in judged
    ]
    return [verdict for verdict in verdicts if verdict.metric != UNPARSED or verdict.outcome == "BREACH"]


def _slice_verdict(item: JudgedSlice, outcome: Outcome, family: int, policy: Policy) -> SliceVerdict:
    found, rule = item.comparison, item.rule
    notes = []
    if outcome != found.verdict:
        notes.append(f"above the budget by itself, but not after Holm's correction for {family} claims")
    if rule.decision == "point" and not math.isnan(found.loss):
        outcome = "PASS" if found.loss <= rule.budget else "BREACH"
        notes = ["judged by the estimate alone"]
    if not item.gated:
        notes.append(f"not gated: {found.n_clusters} clusters, fewer than min_clusters {rule.min_clusters}")
    if item.metric == UNPARSED:
        notes.append("outputs without the declared format increased")
    if found.reason and math.isnan(found.loss):
        notes.append(found.reason)
    if item.noise is not None and item.noise.inside and found.loss > 0:
        notes.append("inside the noise of the baseline")
    waiver = policy.waiver(item.task, found.slice, item.metric)
    flip = found.flip_rate
    return SliceVerdict(
        task=item.task,
        slice=found.slice,
        metric=item.metric,
        outcome=outcome,
        counts=item.gated and rule.tier == "blocking" and waiver is None,
        gated=item.gated,
        rule=rule,
        waiver=waiver,
        samples=found.n_samples,
        clusters=found.n_clusters,
        baseline_value=_on_metric_scale(found.quality_baseline, item.higher_is_better),
        candidate_value=_on_metric_scale(found.quality_candidate, item.higher_is_better),
        loss=_number(found.loss),
        low=_number(found.low),
        high=_number(found.high),
        flips_worse=found.samples_worsened,
        flips_better=found.samples_improved,
        flip_rate=_number(flip),
        p_noninferiority=_number(found.p_noninferiority),
        p_breach=_number(found.p_breach),
        mcnemar_p=_number(found.mcnemar_p),
        effect_size=_number(found.effect_size),
        further_clusters=found.further_clusters,
        minimum_clusters=found.minimum_clusters,
        certifiable=found.certifiable,
        method=found.method,
        bootstrap_low=_number(found.bootstrap_low),
        bootstrap_high=_number(found.bootstrap_high),
        noise=item.noise,
        note="; ".join(notes),
    )


def absent_required_slices(pairs: Mapping[str, PairedTask], policy: Policy) -> list[SliceVerdict]:
    """A MISSING verdict for each slice that the policy requires and no sample has."""
    absent = []
    for task, pair in pairs.items():
        task_policy = policy.task(task)
        wanted = [
            *task_policy.required_slices,
            *(name for name, change in task_policy.slices.items() if change.required),
        ]
        present = pair.slices()
        for name in dict.fromkeys(wanted):
            if name not in present and not set(name) & set("*?["):
                absent.append(
                    SliceVerdict(
                        task=task,
                        slice=name,
                        metric=pair.baseline.headline,
                        outcome="MISSING",
                        counts=True,
                        gated=True,
                        rule=Rule(required=True),
                        note="required by the policy, but no sample has it",
                    )
                )
    return absent


def release_outcome(slices: Sequence[SliceVerdict], problems: Sequence[Problem]) -> Outcome:
    """PASS only where there is evidence for every slice that counts; whatever is absent comes first."""
    counted: list[Outcome] = []
    for verdict in slices:
        if verdict.counts and not (verdict.outcome == "INCONCLUSIVE" and verdict.rule.inconclusive == "tolerate"):
            is_breach = verdict.outcome == "INCONCLUSIVE" and verdict.rule.inconclusive == "breach"
            counted.append("BREACH" if is_breach else verdict.outcome)
    if any(not problem.allowed for problem in problems):
        return "MISSING"
    return max(counted, key=SEVERITY.__getitem__) if counted else "INCONCLUSIVE"


def worst_first(verdict: SliceVerdict) -> tuple[bool, int, float, str, str]:
    """Sort key: gated before reported, then by severity, then by loss in units of the budget."""
    excess = -math.inf if verdict.loss is None else verdict.loss / verdict.rule.budget
    return (not verdict.gated, -SEVERITY[verdict.outcome], -excess, verdict.task, verdict.slice)


def slices_of_a_sample(slices: Sequence[SliceVerdict], pairs: Mapping[str, PairedTask]) -> float:
    """Mean number of gated slices, `all` aside, that a sample lies in."""
    headlines = {task: pair.baseline.headline for task, pair in pairs.items()}
    inside = sum(v.samples for v in slices if v.gated and v.slice != WHOLE_TASK and v.metric == headlines.get(v.task))
    total = sum(len(pair) for pair in pairs.values())
    return inside / total if total else 0.0


def _on_metric_scale(quality: float, higher_is_better: bool) -> float | None:
    return _number(quality if higher_is_better else 1 - quality)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
