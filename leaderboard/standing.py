"""The leaderboard: runs ranked per ability by quality and speed, with the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tliveomni_eval.leaderboard.page_data import RunCard, Standing, TaskCard
from tliveomni_eval.leaderboard.paired_samples import PairedSamples
from tliveomni_eval.leaderboard.serving_figures import ServingFigures, Workload


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
    figures: Sequence[ServingFigures | None],
) -> list[Standing]:
    """One row a task and run, best quality first within a task.

    Where a run has serving figures for the modality of a task, its speed is theirs. Else it is the time of the whole
    run over the samples of all its tasks, loading included, which only compares runs of the same tasks.

    Args:
        tasks: Task name to its samples over `runs`.
        cards: What is known of the tasks, in the same order.
        runs: The baseline first.
        figures: Serving figures of each run; None where it has none.
    """
    whole = [run_speed(card, count) for card, count in zip(runs, sample_counts(tasks, len(runs)), strict=True)]
    rows: list[Standing] = []
    for (name, paired), task in zip(tasks.items(), cards, strict=True):
        found: list[Standing] = []
        for run, card in enumerate(runs):
            rate = paired.pooled_rate(run, 0, paired.positions[run] >= 0)
            if rate is None:
                continue
            measured = figures[run]
            workload = (measured.of(task.modality) if measured else None) or Workload(modality=task.modality)
            seconds = workload.seconds_per_sample
            speed = whole[run] if seconds is None else Speed(seconds, "bench")
            found.append(
                Standing(
                    task=name,
                    run=card.key,
                    hardware=card.hardware,
                    quality=rate if paired.higher_is_better[0] else 1 - rate,
                    seconds_per_sample=speed.seconds_per_sample,
                    speed_source=speed.source,
                    ttft_s=workload.ttft_s,
                    tpot_s=workload.tpot_s,
                    memory_bytes=workload.peak_memory_bytes,
                    on_front=False,
                )
            )
        found.sort(key=lambda row: (-row.quality, _or_infinite(row.seconds_per_sample), row.run))
        rows += [row.model_copy(update={"on_front": _on_front(row, found)}) for row in found]
    return rows


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
