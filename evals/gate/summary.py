"""The closing line: what the verdict means and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from tliveomni_eval.evals.gate.verdict import Outcome, Problem, SliceVerdict


def percent(share: float | None, digits: int = 2) -> str:
    """A share as a percentage; a dash where there is none.

    >>> percent(0.0153), percent(-0.2), percent(-1e-9), percent(None)
    ('1.53 %', '−20.00 %', '0.00 %', '–')
    """
    if share is None:
        return "–"
    number = f"{100 * share:.{digits}f}"
    return f"{number.lstrip('-')} %" if float(number) == 0 else f"{number.replace('-', '−')} %"


def summarise(outcome: Outcome, candidate: str, slices: Sequence[SliceVerdict], problems: Sequence[Problem]) -> str:
    """One to three sentences for the end of every table.

    Args:
        outcome: The verdict of the release.
        candidate: Name of the candidate.
        slices: Every slice.
        problems: Whatever is absent or differs.
    """
    counted = [verdict for verdict in slices if verdict.counts]
    if outcome == "MISSING":
        text = _missing(candidate, counted, problems)
    elif outcome == "BREACH":
        text = _breach(candidate, counted)
    elif outcome == "INCONCLUSIVE":
        text = _inconclusive(candidate, counted)
    else:
        text = _pass(candidate, counted)
    return " ".join([text, *_remarks(slices)])


def _missing(candidate: str, counted: Sequence[SliceVerdict], problems: Sequence[Problem]) -> str:
    blocking = [problem for problem in problems if not problem.allowed]
    absent = [verdict for verdict in counted if verdict.outcome == "MISSING"]
    if blocking:
        fields = dict.fromkeys(problem.field for problem in blocking)
        advice = "Run both backends on the same data with the same settings, or waive a difference with --allow FIELD."
        if all(field.startswith("canary:") for field in fields):
            advice = (
                "A run whose canaries fail does not measure what it claims: mend what they name and run it again, or "
                "waive one with --allow canary:NAME."
            )
        if set(fields) <= {"log", "task", "errors"}:
            advice = "Mend or repeat what is named above; nothing was compared that could not be trusted."
        return f"No verdict on {candidate}: {_plural(len(blocking), 'problem')} ({', '.join(fields)}). {advice}"
    return f"No verdict on {candidate}: {_plural(len(absent), 'required slice')} without a sample."


def _breach(candidate: str, counted: Sequence[SliceVerdict]) -> str:
    breached = [verdict for verdict in counted if verdict.outcome == "BREACH"]
    if not breached:
        return f"{candidate} must not ship: the policy counts INCONCLUSIVE slices as BREACH."
    worst = breached[0]
    return (
        f"{candidate} must not ship: {_plural(len(breached), 'slice')} of {len(counted)} lost more than the budget, "
        f"worst {worst.task} {worst.slice}: {percent(worst.loss)} of a budget of {percent(worst.rule.budget)}. "
        "`tlive report` shows the samples that broke."
    )


def _inconclusive(candidate: str, counted: Sequence[SliceVerdict]) -> str:
    open_slices = [verdict for verdict in counted if verdict.outcome == "INCONCLUSIVE"]
    if not open_slices:
        return f"No evidence on {candidate}: no slice counts for the release under this policy."
    text = (
        f"The samples cannot tell whether {candidate} stays inside the budget: "
        f"{_plural(len(open_slices), 'slice')} of {len(counted)} undecided."
    )
    needed = [verdict for verdict in open_slices if verdict.further_clusters]
    if needed:
        most = max(needed, key=lambda verdict: verdict.further_clusters or 0)
        text += (
            f" About {most.further_clusters:,} more clusters in {most.task} {most.slice} (the most that any slice "
            "needs) would decide with 80 % power."
        )
    small = [verdict for verdict in open_slices if not verdict.certifiable and verdict.minimum_clusters]
    if small:
        least = max(verdict.minimum_clusters or 0 for verdict in small)
        text += (
            f" {_plural(len(small), 'slice')} cannot PASS at this size even with nothing broken: "
            f"that takes {least:,} clusters."
        )
    edge = [verdict for verdict in open_slices if verdict.further_clusters is None]
    if edge and not needed:
        text += " The losses lie on the budget itself, where more samples would not decide."
    return text


def _pass(candidate: str, counted: Sequence[SliceVerdict]) -> str:
    passed = [verdict for verdict in counted if verdict.outcome == "PASS"]
    confidences = {verdict.rule.confidence for verdict in passed}
    level = f"{100 * min(confidences):g} % intervals"
    highest = max((verdict.high for verdict in passed if verdict.high is not None), default=None)
    decided = "every slice" if len(passed) == len(counted) else f"{len(passed)} of {len(counted)} slices"
    return (
        f"{candidate} stays inside the budget on {decided} that counts: no loss above {percent(highest)} is compatible "
        f"with the samples ({level})."
    )


def _remarks(slices: Sequence[SliceVerdict]) -> list[str]:
    remarks = []
    small = [verdict for verdict in slices if not verdict.gated and verdict.outcome == "BREACH"]
    if small:
        remarks.append(
            f"{_plural(len(small), 'slice')} too small to gate but above the budget, first {small[0].task} "
            f"{small[0].slice}: make it `required` to gate it."
        )
    warned = [v for v in slices if v.gated and v.rule.tier == "warning" and v.outcome == "BREACH"]
    if warned:
        remarks.append(f"{_plural(len(warned), 'slice')} of tier `warning` above the budget.")
    waived = [verdict for verdict in slices if verdict.waiver is not None and verdict.outcome != "PASS"]
    if waived:
        remarks.append(f"{_plural(len(waived), 'slice')} waived.")
    idle = [verdict for verdict in slices if verdict.waiver is not None and verdict.outcome == "PASS"]
    if idle:
        remarks.append(f"The waiver for {idle[0].task} {idle[0].slice} is not needed any more.")
    tolerated = [v for v in slices if v.counts and v.outcome == "INCONCLUSIVE" and v.rule.inconclusive == "tolerate"]
    if tolerated:
        remarks.append(f"{_plural(len(tolerated), 'undecided slice')} tolerated by the policy.")
    return remarks


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
