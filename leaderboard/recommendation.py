"""What to ship on each hardware: the fastest candidate that the gate passes, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from tliveomni_eval.leaderboard.page_data import Recommendation, RunCard, Standing

_WORST_LAST = ("PASS", "INCONCLUSIVE", "BREACH", "MISSING")


def recommendations(
    baseline: RunCard, candidates: Sequence[RunCard], ranked: Sequence[Standing]
) -> list[Recommendation]:
    """One recommendation for each hardware that a run was made on, in order of first appearance.

    Only a candidate whose every gated slice is inside the budget is recommended. Of several the fastest is: the one
    with the smallest mean over tasks of the seconds a sample takes. One without speed comes after those with it.

    Args:
        baseline: The run compared against: what remains where no candidate passes.
        candidates: The runs judged.
        ranked: The leaderboard.
    """
    names = dict.fromkeys(run.hardware for run in (baseline, *candidates))
    return [_on(name, baseline, candidates, ranked) for name in names]


def _on(hardware: str, baseline: RunCard, candidates: Sequence[RunCard], ranked: Sequence[Standing]) -> Recommendation:
    here = [run for run in candidates if run.hardware == hardware]
    inside = [run for run in here if run.verdict == "PASS"]
    inside.sort(key=lambda run: (_seconds(run.key, ranked) is None, _seconds(run.key, ranked) or 0.0, run.key))
    chosen = inside[0] if inside else None
    best = min((run.verdict for run in here if run.verdict), key=_WORST_LAST.index, default="MISSING")
    before = _seconds(baseline.key, ranked) if baseline.hardware == hardware else None
    after = _seconds(chosen.key, ranked) if chosen else None
    return Recommendation(
        hardware=hardware,
        run=chosen.key if chosen else None,
        verdict=best,
        undecided=[run.key for run in here if run.verdict == "INCONCLUSIVE"],
        seconds_per_sample=after,
        speed_up=before / after if before and after else None,
    )


def _seconds(run: str, ranked: Sequence[Standing]) -> float | None:
    """Mean over the tasks of a run; None where a task has no speed."""
    speeds = [row.seconds_per_sample for row in ranked if row.run == run]
    known = [speed for speed in speeds if speed is not None]
    return sum(known) / len(known) if known and len(known) == len(speeds) else None
