"""What to ship on each hardware: the fastest candidate that the gate passes, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from tliveomni_eval.leaderboard.page_data import Recommendation, RunCard, Standing
from tliveomni_eval.leaderboard.page_model import VerdictName

_WORST_LAST: tuple[VerdictName, ...] = ("PASS", "INCONCLUSIVE", "BREACH", "MISSING")


def recommendations(
    baseline: RunCard, candidates: Sequence[RunCard], ranked: Sequence[Standing]
) -> list[Recommendation]:
    """One recommendation for each hardware that a speed is known of, in order of first appearance.

    Only a candidate whose every gated slice is inside the budget is recommended. Of several the fastest is: the one
    with the smallest mean over tasks of the seconds a sample takes. One without speed comes after those with it.

    Args:
        baseline: The run compared against: what remains where no candidate passes.
        candidates: The runs judged.
        ranked: The leaderboard.
    """
    names = dict.fromkeys(row.hardware for run in (baseline, *candidates) for row in ranked if row.run == run.key)
    return [_on(name, baseline, candidates, [row for row in ranked if row.hardware == name]) for name in names]


def _on(hardware: str, baseline: RunCard, candidates: Sequence[RunCard], here: Sequence[Standing]) -> Recommendation:
    known = {row.run for row in here}
    runs = [run for run in candidates if run.key in known]
    inside = [run for run in runs if run.verdict == "PASS"]
    inside.sort(key=lambda run: (_seconds(run.key, here) is None, _seconds(run.key, here) or 0.0, run.key))
    chosen = inside[0] if inside else None
    said = [run.verdict for run in runs]
    best: VerdictName = next((verdict for verdict in _WORST_LAST if verdict in said), "MISSING")
    before = _seconds(baseline.key, here)
    after = _seconds(chosen.key, here) if chosen else None
    return Recommendation(
        hardware=hardware,
        run=chosen.key if chosen else None,
        verdict=best,
        undecided=[run.key for run in runs if run.verdict == "INCONCLUSIVE"],
        seconds_per_sample=after,
        speed_up=before / after if before and after else None,
    )


def _seconds(run: str, here: Sequence[Standing]) -> float | None:
    """Mean over the tasks of a run; None where a task has no speed."""
    speeds = [row.seconds_per_sample for row in here if row.run == run]
    known = [speed for speed in speeds if speed is not None]
    return sum(known) / len(known) if known and len(known) == len(speeds) else None
