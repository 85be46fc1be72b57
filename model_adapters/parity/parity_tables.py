"""A report of parity on a terminal: tables for 100 columns."""

from __future__ import annotations

from collections.abc import Iterator

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text
from tliveomni_eval.evals.parity_report import ParityReport


def print_report(console: Console, report: ParityReport) -> None:
    """Print everything a report holds.

    Args:
        console: Where to.
        report: What was found.
    """
    backends = report.backends
    variant = f" {backends.variant}" if backends.variant else ""
    console.print(
        f"{backends.model}{variant} ({backends.architecture}): transformers {backends.reference_dtype} against vLLM "
        f"{backends.candidate_dtype} on {backends.device}",
        highlight=False,
    )
    if backends.alignments_off:
        console.print(f"alignments off: {', '.join(backends.alignments_off)}", highlight=False)
    console.print(_groups_table(report))
    if (metrics := _metrics_table(report)) is not None:
        console.print(metrics)
    for line in _remarks(report):
        console.print(Text(line, style="dim"))
    if report.ablation:
        console.print(_ablation_table(report))
    if report.layers:
        console.print(_layers_table(report))
    console.print(_conclusion(report))


def _groups_table(report: ParityReport) -> Table:
    table = Table(
        "", "samples", "tokens", "mean |Δ|", "max |Δ|", "mean KL", "same top", "first ≠", "same text", box=SIMPLE
    )
    for group in report.groups:
        if group.mean_delta is None:
            table.add_row(group.name, "0", "", *["–"] * 6)
            continue
        table.add_row(
            group.name,
            str(group.samples),
            f"{group.tokens:,}",
            number(group.mean_delta),
            number(group.max_delta),
            number(group.mean_kl),
            _share(group.same_argmax),
            "none" if group.earliest_divergence is None else str(group.earliest_divergence),
            _share(group.same_text),
        )
    return table


def _metrics_table(report: ParityReport) -> Table | None:
    table = Table("task", "metric", "transformers", "vLLM", "change", "interval", box=SIMPLE)
    for group in report.groups:
        if (metric := group.metric) is None:
            continue
        known = metric.low is not None and metric.high is not None
        interval = f"{metric.low:+.3f} … {metric.high:+.3f} at {metric.confidence:.0%}" if known else "none"
        values = (f"{metric.reference:.4f}", f"{metric.candidate:.4f}", f"{metric.change:+.4f}")
        table.add_row(group.name, metric.metric, *values, interval)
    return table if table.row_count else None


def _remarks(report: ParityReport) -> Iterator[str]:
    yield (
        "|Δ|: absolute difference of the log-probability (nats) of the reference's tokens. same top: vLLM's most "
        "probable token is the reference's; first ≠: the earliest index in an answer at which it is not."
    )
    for group in report.groups:
        if group.kind == "task" and group.reason:
            yield f"{group.name}: {group.not_compared} not compared: {group.reason}"
        if group.kind == "task" and group.note:
            yield f"{group.name}: {group.note}"
        if group.kind == "task" and group.different_prompts:
            yield f"{group.name}: {group.different_prompts} prompts have another number of tokens in vLLM"


def _ablation_table(report: ParityReport) -> Table:
    modalities = list(report.ablation[0].by_modality)
    table = Table("alignments", "mean |Δ|", "max |Δ|", "× all on", "other prompts", *modalities, box=SIMPLE)
    for row in report.ablation:
        table.add_row(
            row.switch or "all on",
            number(row.mean_delta),
            number(row.max_delta),
            "" if row.times_all_on is None else f"{row.times_all_on:,.1f}",
            str(row.different_prompts),
            *(number(row.by_modality.get(name)) for name in modalities),
        )
    return table


def _layers_table(report: ParityReport) -> Table:
    table = Table("component", "modules", "first beyond tolerance", "relative", "max |Δ|", "worst", "relative")
    for row in report.layers:
        level = "" if row.level is None else f" {row.level}"
        first, worst = row.first, row.worst
        table.add_row(
            f"{row.component}{level}",
            str(row.compared),
            "none" if first is None else f"{first.name}\n{first.sample}",
            "" if first is None else _or_shape(first.relative),
            "" if first is None else _or_shape(first.max_abs),
            "" if worst is None else worst.name,
            "" if worst is None else _or_shape(worst.relative),
        )
    return table


def _or_shape(value: float | None) -> str:
    return "other shape" if value is None else number(value)


def _conclusion(report: ParityReport) -> Text:
    overall = report.overall
    if report.outcome == "NOTHING COMPARABLE":
        return Text(f"? NOTHING COMPARABLE  {overall.reason}", style="yellow")
    found = f"mean |Δ log-probability| {number(overall.mean_delta)} of at most {number(report.max_mean_delta)}"
    if overall.different_prompts:
        found += f"; {overall.different_prompts} prompts have another number of tokens in vLLM"
    if report.outcome == "WITHIN":
        return Text(f"✔ WITHIN  {found}", style="green")
    return Text(f"✘ BEYOND  {found}", style="red")


def number(value: float | None) -> str:
    """A difference, short; empty for None.

    Args:
        value: At least 0.

    >>> number(0.0), number(0.0123456), number(0.0000123)
    ('0', '0.0123', '1.2e-05')
    """
    if value is None:
        return ""
    if value == 0:
        return "0"
    return f"{value:.4f}" if value >= 0.001 else f"{value:.1e}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"
