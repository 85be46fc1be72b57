"""`tlive parity` as tables of the page."""

from __future__ import annotations

from collections.abc import Sequence

from tliveomni_eval.evals.parity_report import ParityGroup, ParityReport
from tliveomni_eval.leaderboard.page_data import FactTable

_GROUP_COLUMNS = (
    *("name", "samples", "tokens", "mean", "max", "kl", "argmax", "diverges", "same_text"),
    *("metric", "delta", "low", "high", "detail"),
)


def parity_tables(run: str, reports: Sequence[ParityReport]) -> list[FactTable]:
    """The tables of all reports on the checkpoint of one run.

    Args:
        run: Its name on the page.
        reports: What was measured.
    """
    return [table for report in reports for table in _tables(run, report)]


def _tables(run: str, report: ParityReport) -> list[FactTable]:
    backends = report.backends
    off = f"; off: {', '.join(backends.alignments_off)}" if backends.alignments_off else ""
    title = f"{run} · {report.created:%Y-%m-%d %H:%M}"
    what = (
        f"{backends.model}: vLLM {backends.candidate_dtype} against transformers {backends.reference_dtype} "
        f"on {backends.device}{off}. "
    )
    judged = {"WITHIN": "within", "BEYOND": "beyond"}.get(report.outcome)
    verdict = (
        f"Mean |Δ logprob| is {judged} the tolerance of {report.max_mean_delta:g}."
        if judged
        else "Nothing could be compared."
    )
    tables = [
        FactTable(
            title=title,
            note=what + verdict,
            columns=list(_GROUP_COLUMNS),
            rows=[_group_row(group) for group in report.groups],
        )
    ]
    if report.layers:
        tables.append(_layer_table(title, report))
    if report.ablation:
        tables.append(_ablation_table(title, report))
    return tables


def _group_row(group: ParityGroup) -> list[bool | int | float | str | None]:
    change = group.metric
    missing = f"{group.not_compared} not compared: {group.reason}" if group.not_compared else ""
    prompts = f"{group.different_prompts} prompts of another length" if group.different_prompts else ""
    return [
        group.name,
        group.samples,
        group.tokens,
        group.mean_delta,
        group.max_delta,
        group.mean_kl,
        group.same_argmax,
        group.earliest_divergence,
        group.same_text,
        change.metric if change else None,
        change.change if change else None,
        change.low if change else None,
        change.high if change else None,
        "; ".join(part for part in (prompts, missing, group.note) if part),
    ]


def _layer_table(title: str, report: ParityReport) -> FactTable:
    return FactTable(
        title=f"{title} · layers",
        note="The first module of each component, in the order of computation, that differs by more than rounding.",
        columns=["component", "held", "compared", "tolerance", "layer", "difference", "worst", "worst_difference"],
        rows=[
            [
                part.component if part.level is None else f"{part.component} {part.level}",
                part.first is None if part.compared else None,
                part.compared,
                part.tolerance,
                part.first.name if part.first else None,
                part.first.relative if part.first else None,
                part.worst.name if part.worst else None,
                part.worst.relative if part.worst else None,
            ]
            for part in report.layers
        ],
    )


def _ablation_table(title: str, report: ParityReport) -> FactTable:
    modalities = list(dict.fromkeys(name for row in report.ablation for name in row.by_modality))
    return FactTable(
        title=f"{title} · alignments",
        note="The same comparison with one alignment off at a time.",
        columns=["switch", "tokens", "mean", "max", "times", *modalities],
        rows=[
            [
                row.switch or "all on",
                row.tokens,
                row.mean_delta,
                row.max_delta,
                row.times_all_on,
                *(row.by_modality.get(name) for name in modalities),
            ]
            for row in report.ablation
        ],
    )
