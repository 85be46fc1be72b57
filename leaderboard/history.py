"""A slice over releases: quality with its interval, what changed, the noise, and where a regression began."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

from pydantic import BaseModel, ConfigDict

STEP_SIGNIFICANCE = 0.01
"""Two-sided level of the step test, after Bonferroni's correction for the places a step can be."""


@dataclass(frozen=True, slots=True)
class Release:
    """One run on one slice.

    Attributes:
        run_id: Its id in the store.
        name: Its name.
        started: ISO 8601 time.
        quality: Quality of the slice, 0..1, higher is better.
        n: Samples.
        environment: What may explain a change: fact to value.
    """

    run_id: str
    name: str
    started: str
    quality: float
    n: int
    environment: Mapping[str, str] = field(default_factory=dict)


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class HistoryPoint(_Frozen):
    """A release with its interval, and what differs from the release before."""

    run_id: str
    name: str
    started: str
    quality: float
    low: float
    high: float
    n: int
    changes: list[str]


class Step(_Frozen):
    """Where a regression began.

    Attributes:
        index: The first release after the step.
        before: Mean quality before it.
        after: Mean quality from there on.
        p_value: Two-sided, corrected for the number of places.
    """

    index: int
    before: float
    after: float
    p_value: float


class History(_Frozen):
    """One variant on one slice, oldest release first.

    Attributes:
        variant: Name of the variant.
        points: Its releases.
        step: The regression, where there is one.
        noise: Half width of the 95 % band of runs of one and the same backend (A/A); None without repeated runs.
    """

    variant: str
    points: list[HistoryPoint]
    step: Step | None = None
    noise: float | None = None


def history(variant: str, releases: Sequence[Release], confidence: float = 0.95) -> History:
    """Builds the history of a variant.

    Args:
        variant: Its name.
        releases: Oldest first.
        confidence: Level of the intervals (Wilson 1927, over the samples).
    """
    points = []
    for index, release in enumerate(releases):
        low, high = wilson_interval(release.quality, release.n, confidence)
        points.append(
            HistoryPoint(
                run_id=release.run_id,
                name=release.name,
                started=release.started,
                quality=release.quality,
                low=low,
                high=high,
                n=release.n,
                changes=_changes(releases[index - 1], release) if index else [],
            )
        )
    return History(variant=variant, points=points, step=regression_step(releases), noise=noise_half_width(releases))


def wilson_interval(share: float, n: int, confidence: float) -> tuple[float, float]:
    """Wilson's score interval of a share; (0, 1) without samples.

    >>> tuple(round(end, 4) for end in wilson_interval(0.9, 100, 0.95))
    (0.8256, 0.9448)
    """
    if n <= 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(max(0.0, share * (1 - share)) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def regression_step(releases: Sequence[Release]) -> Step | None:
    """The most likely place where quality fell and stayed down, or None where no fall is beyond chance.

    Tries every place, compares the pooled shares before and after it by a two-proportion z test, and corrects the
    smallest p value for the number of places. All releases see the same samples, which makes the test conservative.
    """
    best: Step | None = None
    places = len(releases) - 1
    for index in range(1, len(releases)):
        n_before, before = _pooled(releases[:index])
        n_after, after = _pooled(releases[index:])
        shared = (n_before * before + n_after * after) / max(1, n_before + n_after)
        deviation = math.sqrt(max(0.0, shared * (1 - shared)) * (1 / max(1, n_before) + 1 / max(1, n_after)))
        if deviation == 0 or after >= before:
            continue
        p_value = min(1.0, places * 2 * (1 - NormalDist().cdf((before - after) / deviation)))
        if p_value <= STEP_SIGNIFICANCE and (
            best is None or p_value < best.p_value or _steeper(before - after, best, p_value)
        ):
            best = Step(index=index, before=before, after=after, p_value=p_value)
    return best


def noise_half_width(releases: Sequence[Release], confidence: float = 0.95) -> float | None:
    """Half width of the band in which repeated runs of one backend lie, from their pooled spread; None without any."""
    groups: dict[tuple[tuple[str, str], ...], list[float]] = defaultdict(list)
    for release in releases:
        groups[tuple(sorted(release.environment.items()))].append(release.quality)
    repeated = [group for group in groups.values() if len(group) > 1]
    freedom = sum(len(group) - 1 for group in repeated)
    if freedom == 0:
        return None
    squares = sum(sum((value - sum(group) / len(group)) ** 2 for value in group) for group in repeated)
    return NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(squares / freedom)


def _pooled(releases: Sequence[Release]) -> tuple[int, float]:
    n = sum(release.n for release in releases)
    return n, sum(release.n * release.quality for release in releases) / n if n else 0.0


def _steeper(fall: float, best: Step, p_value: float) -> bool:
    """Where p values are too small to tell apart, the steepest fall is the place."""
    return p_value == best.p_value and fall > best.before - best.after


def _changes(before: Release, after: Release) -> list[str]:
    names = sorted(before.environment.keys() | after.environment.keys())
    return [
        f"{name}: {_short(before.environment.get(name))} → {_short(after.environment.get(name))}"
        for name in names
        if before.environment.get(name) != after.environment.get(name)
    ]


def _short(value: str | None) -> str:
    return "–" if value is None else value if len(value) <= 24 else f"{value[:10]}…"
