"""The budget policy: what may be lost where, and how sure the gate must be.

A rule is resolved from `defaults`, then the task, then every matching entry under the task's `slices`; whatever a
level leaves out it takes from the level above.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, field_validator, model_validator
from pydantic_core import PydanticCustomError
from tliveomni_eval.evals.errors import unknown_name_message
from tliveomni_eval.evals.statistics.comparison import LossKind

Decision = Literal["interval", "point"]
"""`interval`: PASS or BREACH only where the whole interval is on one side of the budget. `point`: the estimate alone
decides, with no claim about errors; for smoke tests on few samples."""

Tier = Literal["blocking", "warning"]
"""`blocking`: the slice counts for the release. `warning`: it is shown, and never changes the exit status."""

Inconclusive = Literal["block", "breach", "tolerate"]
"""What an INCONCLUSIVE slice means for the release: `block`: the release is INCONCLUSIVE (exit 2); `breach`: it counts
as BREACH (exit 1); `tolerate`: it does not count, and the result says so."""

Multiplicity = Literal["holm", "none"]


def _share(value: Any) -> Any:
    """`"1.5%"` as 0.015."""
    if isinstance(value, str) and value.strip().endswith("%"):
        try:
            return float(value.strip()[:-1]) / 100
        except ValueError:
            return value
    return value


_SHARE_SCHEMA = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$"}]}

Share = Annotated[float, BeforeValidator(_share), WithJsonSchema(_SHARE_SCHEMA, mode="validation")]
"""A share of 1, written `0.015` or `"1.5%"`."""


class _PolicyPart(BaseModel):
    """Refuses unknown keys and names the nearest known one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys_only(cls, values: Any) -> Any:
        if isinstance(values, Mapping):
            for key in values:
                if key not in cls.model_fields:
                    message = unknown_name_message("key", str(key), list(cls.model_fields))
                    raise PydanticCustomError("unknown_key", "{message}", {"message": message, "key": str(key)})
        return values


class RuleChange(_PolicyPart):
    """What one level of the policy sets; None leaves it to the level above.

    Attributes:
        budget: Largest loss allowed, 0..1, on the scale of `loss`.
        loss: `relative` (Q_b − Q_c) / Q_b, `absolute` Q_b − Q_c, or `relative_error` (E_c − E_b) / E_b.
        confidence: Level of the two-sided interval, 0.5..1.
        decision: See `Decision`.
        min_clusters: A slice with fewer independent clusters is reported but not gated, unless it is required.
        required: The slice must be there and is gated whatever its size.
        tier: See `Tier`.
        inconclusive: See `Inconclusive`.
    """

    budget: Share | None = None
    loss: LossKind | None = None
    confidence: Share | None = None
    decision: Decision | None = None
    min_clusters: int | None = Field(default=None, ge=1)
    required: bool | None = None
    tier: Tier | None = None
    inconclusive: Inconclusive | None = None

    @field_validator("budget")
    @classmethod
    def _budget_is_a_share(cls, value: float | None) -> float | None:
        if value is not None and not 0 < value < 1:
            meant = f"; for {value:g} % write {value / 100:g} or '{value:g}%'" if 1 <= value <= 100 else ""
            raise ValueError(f"budget must be above 0 and below 1, got {value:g}{meant}")
        return value

    @field_validator("confidence")
    @classmethod
    def _confidence_is_a_level(cls, value: float | None) -> float | None:
        if value is not None and not 0.5 <= value < 1:
            raise ValueError(f"confidence must be at least 0.5 and below 1, got {value:g}")
        return value


class Rule(BaseModel):
    """A rule with every level resolved; the fields are those of `RuleChange`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    budget: float = 0.015
    loss: LossKind = "relative"
    confidence: float = 0.95
    decision: Decision = "interval"
    min_clusters: int = 50
    required: bool = False
    tier: Tier = "blocking"
    inconclusive: Inconclusive = "block"

    def changed_by(self, change: RuleChange) -> Rule:
        """This rule with what `change` sets."""
        update = {name: getattr(change, name) for name in Rule.model_fields if getattr(change, name) is not None}
        return self.model_copy(update=update) if update else self


class TaskPolicy(RuleChange):
    """The rules of one task.

    Attributes:
        metrics: Metrics to gate; the task's headline metric by default.
        higher_is_better: Direction of the metrics, for logs that do not say.
        statistic: `ratio` sums counts; `all_correct` counts a cluster as right where all of its samples are
            (CircularEval, HallusionBench). By default what the task's metadata says, else `ratio`.
        attributes: Slice attributes to gate; all by default.
        required_slices: Slices that must be there and are gated whatever their size.
        max_unparsed_increase: Share of samples, 0..1, by which outputs without the declared format may increase.
        max_errors: Samples without an output that are tolerated in either run.
        slices: Slice or pattern (`lang=*`) to what it sets; a full name wins over a pattern.
    """

    metrics: list[str] | None = Field(default=None, min_length=1)
    higher_is_better: bool | None = None
    statistic: Literal["ratio", "all_correct"] | None = None
    attributes: list[str] | None = None
    required_slices: list[str] = Field(default_factory=list)
    max_unparsed_increase: Share = Field(default=0.015, gt=0, le=1)
    max_errors: int = Field(default=0, ge=0)
    slices: dict[str, RuleChange] = Field(default_factory=dict)


class Waiver(_PolicyPart):
    """A slice that may miss its budget until a date.

    Attributes:
        task: Task name.
        slice: Slice name.
        metric: Metric; the gated ones by default.
        reason: Why.
        approved_by: Who answers for it.
        until: Last day on which it holds.
    """

    task: str = Field(min_length=1)
    slice: str = Field(min_length=1)
    metric: str | None = None
    reason: str = Field(min_length=1)
    approved_by: str = Field(min_length=1)
    until: datetime.date


class Policy(_PolicyPart):
    """The whole policy.

    Attributes:
        version: Version of this layout.
        defaults: What holds for every slice of every task.
        tasks: Task name to its rules; a task that is not named is gated by the defaults.
        multiplicity: `holm` corrects the family of BREACH claims; `none` does not.
        waivers: Slices that may miss their budget until a date.
    """

    version: Literal[1] = 1
    defaults: RuleChange = Field(default_factory=RuleChange)
    tasks: dict[str, TaskPolicy] = Field(default_factory=dict)
    multiplicity: Multiplicity = "holm"
    waivers: list[Waiver] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_waiver_a_slice(self) -> Self:
        seen: set[tuple[str, str, str | None]] = set()
        for waiver in self.waivers:
            key = (waiver.task, waiver.slice, waiver.metric)
            if key in seen:
                raise ValueError(f"two waivers for slice {waiver.slice!r} of task {waiver.task!r}")
            seen.add(key)
        return self

    def task(self, name: str) -> TaskPolicy:
        """The rules of a task; those of a task that is not named are empty."""
        return self.tasks.get(name) or TaskPolicy()

    def rule(self, task: str, slice_name: str) -> Rule:
        """The resolved rule of one slice."""
        task_policy = self.task(task)
        rule = Rule().changed_by(self.defaults).changed_by(task_policy)
        exact = task_policy.slices.get(slice_name)
        for pattern, change in task_policy.slices.items():
            if pattern != slice_name and fnmatchcase(slice_name, pattern):
                rule = rule.changed_by(change)
        if exact is not None:
            rule = rule.changed_by(exact)
        if slice_name in task_policy.required_slices:
            rule = rule.changed_by(RuleChange(required=True))
        return rule

    def waiver(self, task: str, slice_name: str, metric: str) -> Waiver | None:
        """The waiver of one slice, if there is one."""
        for waiver in self.waivers:
            if (waiver.task, waiver.slice) == (task, slice_name) and waiver.metric in (None, metric):
                return waiver
        return None
