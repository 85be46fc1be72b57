"""The leaderboard: runs ranked per ability by quality and speed, with the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tliveomni_eval.evals.serving_figures import BenchReport, Workload
from tliveomni_eval.leaderboard.page_data import RunCard, Standing, TaskCard
from tliveomni_eval.leaderboard.paired_samples import PairedSamples
from tliveomni_eval.leaderboard.run_card import hardware_name

_TRANSFORMERS_MODELS = ("tliveomni_hf",)
"""Models of lmms-eval that transformers runs: how fast it is says nothing of a run on vLLM, and the reverse."""


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast a run is.

    Attributes:
        seconds_per_sample: Seconds a sample takes; None where nothing is known.
        source: `bench` for one request at a time, measured; `run` for the time of the whole run over its samples.
    """

    seconds_per_sample: float | None = None
    source: Literal["bench", "run"] | None = None


def standings(
    tasks: Mapping[str, PairedSamples],
    cards: Sequence[TaskCard],
    runs: Sequence[RunCard],
    figures: Sequence[Sequence[BenchReport]],
) -> list[Standing]:
    """One row a task, run and machine, best quality first within a task.

    Where the checkpoint of a run was measured on requests of the modality of a task, its speed is that, on the machine
    of the measurement: the same answers may be served on several. Else it is the time of the whole run over the samples
    of all its tasks, loading included, which only compares runs of the same tasks on one machine.

    Args:
        tasks: Task name to its samples over `runs`.
        cards: What is known of the tasks, in the same order.
        runs: The baseline first.
        figures: What was measured of the checkpoint of each run.
    """
    whole = [run_speed(card, count) for card, count in zip(runs, sample_counts(tasks, len(runs)), strict=True)]
    rows: list[Standing] = []
    for (name, paired), task in zip(tasks.items(), cards, strict=True):
        found: list[Standing] = []
        for run, card in enumerate(runs):
            rate = paired.pooled_rate(run, 0, paired.positions[run] >= 0)
            if rate is None:
                continue
            quality = rate if paired.higher_is_better[0] else 1 - rate
            row = Standing(
                task=name,
                run=card.key,
                hardware=card.hardware,
                quality=quality,
                seconds_per_sample=whole[run].seconds_per_sample,
                speed_source=whole[run].source,
                on_front=False,
            )
            measured = [
                row.model_copy(update=_figures(workload) | {"hardware": hardware_name(report.hardware)})
                for report in figures[run]
                if (report.backend == "transformers") == (card.model in _TRANSFORMERS_MODELS)
                and (workload := _workload(report, task.modality)) is not None
            ]
            found += measured or [row]
        found.sort(key=lambda row: (-row.quality, _or_infinite(row.seconds_per_sample), row.run, row.hardware))
        rows += [row.model_copy(update={"on_front": _on_front(row, found)}) for row in found]
    return rows


def _workload(report: BenchReport, modality: str) -> Workload | None:
    """The first workload of a modality that was measured at batch 1."""
    return next(
        (one for one in report.workloads if one.modality == modality and one.seconds_per_sample is not None), None
    )


def _figures(workload: Workload) -> dict[str, object]:
    return {
        "seconds_per_sample": workload.seconds_per_sample,
        "speed_source": "bench",
        "ttft_s": workload.ttft_s,
        "tpot_s": workload.tpot_s,
        "memory_bytes": workload.peak_memory_bytes,
    }


def sample_counts(tasks: Mapping[str, PairedSamples], runs: int) -> list[int]:
    """Samples of all tasks in each run."""
    return [sum(int((paired.positions[run] >= 0).sum()) for paired in tasks.values()) for run in range(runs)]


def run_speed(card: RunCard, samples: int) -> Speed:
    """The time of a whole run over its samples; unknown where the run has no end or no sample."""
    if card.duration_s is None or samples == 0:
        return Speed()
    return Speed(card.duration_s / samples, "run")


def _or_infinite(seconds: float | None) -> float:
    return float("inf") if seconds is None else seconds


def _on_front(row: Standing, others: Sequence[Standing]) -> bool:
    """Whether no run on the same hardware is at least as good and at least as fast, and better in one of the two.

    Speeds of different sources do not compare: one request at a time against a full batch.
    """
    if row.seconds_per_sample is None:
        return False
    return not any(
        other.seconds_per_sample is not None
        and other.hardware == row.hardware
        and other.speed_source == row.speed_source
        and other.quality >= row.quality
        and other.seconds_per_sample <= row.seconds_per_sample
        and (other.quality > row.quality or other.seconds_per_sample < row.seconds_per_sample)
        for other in others
    )
