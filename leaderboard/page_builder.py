"""Builds all data of the page from runs and the gate's verdicts on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version

from tliveomni_eval.evals.gate.verdict import GateReport
from tliveomni_eval.evals.logs.task_log import TaskLog
from tliveomni_eval.leaderboard.canary_tables import canary_tables
from tliveomni_eval.leaderboard.page_data import PageOverview, TaskCard
from tliveomni_eval.leaderboard.paired_samples import PairedSamples, pair_samples
from tliveomni_eval.leaderboard.parity_tables import parity_tables
from tliveomni_eval.leaderboard.recommendation import recommendations
from tliveomni_eval.leaderboard.release_matrix import build_rows
from tliveomni_eval.leaderboard.run_card import ReportedRun, run_card, short_names
from tliveomni_eval.leaderboard.standing import standings


@dataclass(frozen=True, eq=False, slots=True)
class Comparison:
    """A baseline, its candidates, and what the gate says of them.

    Attributes:
        baseline: The run compared against.
        candidates: The runs judged.
        report: The gate's verdict on each candidate, in order.
    """

    baseline: ReportedRun
    candidates: Sequence[ReportedRun]
    report: GateReport


def pair_tasks(comparison: Comparison) -> dict[str, PairedSamples]:
    """The samples of every task, tasks in the order of the baseline."""
    runs = [comparison.baseline, *comparison.candidates]
    names: dict[str, None] = {}
    for run in runs:
        if run.run is not None:
            names |= dict.fromkeys(run.run.tasks)
    logs = {name: [run.run.tasks.get(name) if run.run else None for run in runs] for name in names}
    return {name: pair_samples(of_task) for name, of_task in logs.items()}


def build_overview(
    comparison: Comparison, tasks: dict[str, PairedSamples], title: str, now: datetime, media_note: str = ""
) -> PageOverview:
    """The release matrix and the cards of runs and tasks.

    Args:
        comparison: What is shown.
        tasks: Result of `pair_tasks`.
        title: Heading of the page.
        now: Time to write on the page.
        media_note: What media were left out.
    """
    verdicts = comparison.report.verdicts
    keys = short_names([comparison.baseline, *comparison.candidates])
    allowed = [problem.message for verdict in verdicts for problem in verdict.problems if problem.allowed]
    baseline = run_card(comparison.baseline, keys[0], None, None)
    candidates = [
        run_card(run, key, comparison.baseline, verdict)
        for run, key, verdict in zip(comparison.candidates, keys[1:], verdicts, strict=True)
    ]
    cards = [_task_card(name, paired) for name, paired in tasks.items()]
    evidence = [run.evidence for run in (comparison.baseline, *comparison.candidates)]
    ranked = standings(tasks, cards, [baseline, *candidates], [one.serving for one in evidence])
    noise = next((verdict.noise_run for verdict in verdicts if verdict.noise_run), None)
    return PageOverview(
        title=title,
        generated=now.isoformat(timespec="seconds"),
        generator=f"tlive {version('tliveomni-eval')}",
        verdict=comparison.report.outcome,
        confidence=verdicts[0].slices[0].rule.confidence if verdicts[0].slices else 0.95,
        baseline=baseline,
        candidates=candidates,
        tasks=cards,
        rows=build_rows(tasks, verdicts),
        standings=ranked,
        recommendations=recommendations(baseline, candidates, ranked),
        noise_run=noise.name if noise else "",
        canaries=canary_tables(
            [(key, run.run_info) for key, run in zip(keys, (comparison.baseline, *comparison.candidates), strict=True)]
        ),
        parity=[table for key, one in zip(keys, evidence, strict=True) for table in parity_tables(key, one.parity)],
        media_note=media_note,
        notes=[f"allowed: {message}" for message in dict.fromkeys(allowed)],
    )


def _task_card(name: str, paired: PairedSamples) -> TaskCard:
    log: TaskLog = next(log for log in paired.logs if log is not None)
    metadata = log.settings.get("metadata")
    facts = metadata if isinstance(metadata, Mapping) else {}
    text = {
        key: str(facts[key]) if isinstance(facts.get(key), str) else ""
        for key in ("ability", "modality", "sensitivity")
    }
    return TaskCard(
        name=name,
        metric=paired.metrics[0],
        higher_is_better=paired.higher_is_better[0],
        ability=text["ability"],
        modality=text["modality"],
        sensitivity=text["sensitivity"],
        samples=len(paired.ids),
    )
