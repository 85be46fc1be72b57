"""The leaderboard: runs ranked per ability by quality and speed, with the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence

from tliveomni_eval.leaderboard.page_data import RunCard, Standing
from tliveomni_eval.leaderboard.paired_samples import PairedSamples


def standings(tasks: dict[str, PairedSamples], runs: Sequence[RunCard]) -> list[Standing]:
    """One row a task and run, best quality first within a task.

    Speed is the time of the whole run over the samples of all its tasks, loading included, so it only compares runs of
    the same tasks on the same machine.

    Args:
        tasks: Task name to its samples over `runs`.
        runs: The baseline first.
    """
    samples = [sum(int((paired.positions[run] >= 0).sum()) for paired in tasks.values()) for run in range(len(runs))]
    speeds = [
        card.duration_s / count if card.duration_s is not None and count > 0 else None
        for card, count in zip(runs, samples, strict=True)
    ]
    rows: list[Standing] = []
    for name, paired in tasks.items():
        found: list[tuple[str, float, float | None]] = []
        for run, card in enumerate(runs):
            rate = paired.pooled_rate(run, 0, paired.positions[run] >= 0)
            if rate is not None:
                found.append((card.key, rate if paired.higher_is_better[0] else 1 - rate, speeds[run]))
        found.sort(key=lambda row: (-row[1], row[2] if row[2] is not None else float("inf"), row[0]))
        rows += [
            Standing(
                task=name, run=key, quality=quality, seconds_per_sample=speed, on_front=_on_front(quality, speed, found)
            )
            for key, quality, speed in found
        ]
    return rows


def _on_front(quality: float, speed: float | None, others: Sequence[tuple[str, float, float | None]]) -> bool:
    """Whether no other run is at least as good and at least as fast, and better in one of the two."""
    if speed is None:
        return False
    return not any(
        other_speed is not None
        and other_quality >= quality
        and other_speed <= speed
        and (other_quality > quality or other_speed < speed)
        for _, other_quality, other_speed in others
    )
