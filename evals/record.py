"""What a scorer leaves behind for one sample: counts that add, and one record that says where it belongs.

A metric on a slice is computed from the *sum* of the samples' counts, never from an average of rates, so that a
slice, a task, a group and a bootstrap replicate are one code path.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Status = Literal["ok", "empty", "unparsed", "truncated", "error"]
"""How the output of a sample could be used: `ok` was scored as it is; `empty` held no text; `unparsed` did not have
the declared format and counts as wrong; `truncated` was cut at a limit and scored as far as it goes; `error` has no
output because the request failed, and counts as wrong."""

STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True, slots=True)
class Counts:
    """Sufficient statistics of a ratio metric: errors over reference length, or hits over trials.

    Attributes:
        num: Numerator, finite and ≥ 0 (errors, hits, a similarity in 0..1).
        den: Denominator, finite and ≥ 0 (reference length, 1 a trial). A sum with `den == 0` has no rate.
    """

    num: float
    den: float

    def __post_init__(self) -> None:
        for name, value in (("num", self.num), ("den", self.den)):
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"Counts.{name} must be finite and at least 0, got {value!r}")

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.num + other.num, self.den + other.den)

    @property
    def rate(self) -> float | None:
        """`num / den`, or None where nothing was counted."""
        return self.num / self.den if self.den > 0 else None

    def logged(self, sample_id: str) -> dict[str, Any]:
        """The JSON object that `process_results` returns to lmms-eval for one metric."""
        return {"id": sample_id, "num": self.num, "den": self.den}


@dataclass(frozen=True, slots=True)
class Record:
    """Where one sample belongs and what became of it: the `record` metric of a sample log.

    Attributes:
        id: Unique within the task, stable between runs: samples are paired by it.
        cluster: Samples of one cluster are not independent (one live stream, one question) and are resampled together.
        slices: Attribute to value, e.g. `{"lang": "zh", "text_px": "12-16"}`; a slice is `attribute=value`.
        status: See `Status`.
        detail: What a viewer draws (alignment, boxes, spans, speaker turns, parsed fields); JSON.
    """

    id: str
    cluster: str
    slices: Mapping[str, str]
    status: Status
    detail: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("Record.id must not be empty")
        if self.status not in STATUSES:
            raise ValueError(f"Record.status must be one of {', '.join(STATUSES)}, got {self.status!r}")

    def logged(self) -> dict[str, Any]:
        """The JSON object that `process_results` returns to lmms-eval under `record`."""
        return {
            "id": self.id,
            "cluster": self.cluster,
            "slices": dict(self.slices),
            "status": self.status,
            "detail": dict(self.detail),
        }
