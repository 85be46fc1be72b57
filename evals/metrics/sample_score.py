"""What every scorer of this folder returns for one sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tliveomni_eval.evals.record import Counts, Status


@dataclass(frozen=True, slots=True)
class SampleScore:
    """The counts of one sample, how its output could be used, and what a viewer draws.

    Attributes:
        counts: Metric name to its sufficient statistics, e.g. `{"r1@0.5": Counts(1, 1)}`.
        status: See `tliveomni_eval.evals.record.Status`.
        detail: JSON for the viewer; goes into `Record.detail` as it is.
    """

    counts: Mapping[str, Counts]
    status: Status
    detail: Mapping[str, Any] = field(default_factory=dict)
