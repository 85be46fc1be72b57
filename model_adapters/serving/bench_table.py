"""Serving figures as tables for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from tliveomni_eval.evals.serving_figures import BenchReport, Percentiles


def print_bench(report: BenchReport, console: Console) -> None:
    """Batch 1, its TTFT in parts, caches and load steps.

    Args:
        report: What was measured.
        console: Where to.
    """
    single = Table("workload", "tokens in → out", "s/sample", "TTFT", "TPOT", "failed", "peak memory",
                   title=f"{report.name} ({report.backend}), one request at a time, medians")  # fmt: skip
    parts = Table("workload", "loading", "preprocessing", "queue", "encoder + prefill", title="TTFT in parts, medians")
    caches = Table("workload", "cache", "TTFT cold", "TTFT warm", title="caches")
    steps = Table("workload", "load", "requests/s", "output tokens/s", "TTFT ms", "TPOT ms",
                  "latency ms", "goodput/s", "failed + late", title="under load; times are P50/P95/P99")  # fmt: skip
    for row in report.workloads:
        spread = f" ± {row.seconds_per_sample_sd:.3f}" if row.seconds_per_sample_sd is not None else ""
        single.add_row(
            row.name,
            f"{row.prompt_tokens or 0:.0f} → {row.output_tokens or 0:.0f}",
            f"{_seconds(row.seconds_per_sample)}{spread}",
            _seconds(row.ttft_s),
            _seconds(row.tpot_s),
            f"{row.failed} of {row.failed + row.succeeded}",
            "–" if row.peak_memory_bytes is None else f"{row.peak_memory_bytes / 2**30:.2f} GiB",
        )
        part = row.ttft_parts
        texts = map(_seconds, (part.loading_s, part.preprocessing_s, part.queue_s, part.encoder_prefill_s))
        parts.add_row(row.name, *texts)
        for figure in row.caches:
            caches.add_row(row.name, figure.cache, _seconds(figure.cold_s), _seconds(figure.warm_s))
        for step in row.steps:
            load = f"{step.level:g} at a time" if step.arrival == "closed" else f"{step.level:g} a second"
            steps.add_row(
                row.name,
                load,
                f"{step.requests_per_s:.2f}",
                f"{step.output_tokens_per_s:.0f}",
                *map(_three, (step.ttft, step.tpot, step.latency)),
                "–" if step.goodput_per_s is None else f"{step.goodput_per_s:.2f}",
                f"{step.failed} + {step.timed_out}",
            )
    console.print(single)
    console.print(parts)
    for table in (caches, steps):
        if table.row_count:
            console.print(table)
    for row in report.workloads:
        for error in row.errors:
            console.print(f"{row.name}: {error}", style="yellow", markup=False, highlight=False)


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.1f} ms"


def _three(found: Percentiles | None) -> str:
    if found is None:
        return "–"
    return "/".join(
        f"{1000 * item.value:.3g}" if item.value < 1 else f"{1000 * item.value:.0f}"
        for item in (found.p50, found.p95, found.p99)
    )
