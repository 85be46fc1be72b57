"""How much more of a sample is wanted: by its task's declared sensitivity, or by what a quantized run lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.gate.verdict import GateReport
from tliveomni_eval.tasks.task_index import TaskEntry

PRECISION_WEIGHT = 2.0
LARGEST_WEIGHT = 8.0
"""A slice that lost everything must not crowd out the rest."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weight of a sample.

    Attributes:
        by_task: Declared weight by task; a task that is not in it has weight 1.
        by_slice: Measured weight by task and slice (`all` or `attribute=value`).
    """

    by_task: Mapping[str, float] = field(default_factory=dict)
    by_slice: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def of(self, task: str, slices: Mapping[str, Any]) -> float:
        """The measured weight of the worst of a sample's slices where its task was measured, else the declared one.

        Args:
            task: Of the sample.
            slices: Attribute to value.
        """
        measured = self.by_slice.get(task)
        if measured is None:
            return self.by_task.get(task, 1.0)
        found = [measured.get("all", 1.0), *(measured.get(f"{name}={value}", 1.0) for name, value in slices.items())]
        return max(found)


def declared_weights(index: Mapping[str, TaskEntry], precision: float = PRECISION_WEIGHT) -> dict[str, float]:
    """Weights by the `sensitivity` that each task declares in its YAML.

    Args:
        index: All tasks.
        precision: Weight of a task that declares `precision`; one that declares `perception` has 1.
    """
    return {
        name: precision if entry.metadata.get("sensitivity") == "precision" else 1.0
        for name, entry in index.items()
        if not entry.members
    }


def measured_weights(path: Path) -> dict[str, dict[str, float]]:
    """Weights by what `tlive gate --json` says was lost: 1 + loss / budget, from 1 to 8; the worst of all candidates.

    Args:
        path: The file that `tlive gate --json FILE` wrote.

    Raises:
        UserError: It cannot be read, is no such file, or holds no slice with a loss.
    """
    try:
        report = GateReport.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"--measure {path}: cannot be read ({error.strerror})") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise UserError(
            f"--measure {path}: {where}: {first['msg']}; give what `tlive gate --json FILE` wrote"
        ) from None
    weights: dict[str, dict[str, float]] = {}
    for verdict in report.verdicts:
        for item in verdict.slices:
            if item.loss is None:
                continue
            weight = min(LARGEST_WEIGHT, 1.0 + max(0.0, item.loss) / item.rule.budget if item.rule.budget > 0 else 8.0)
            of_task = weights.setdefault(item.task, {})
            of_task[item.slice] = max(weight, of_task.get(item.slice, 1.0))
    if not weights:
        raise UserError(f"--measure {path}: no slice in it has a loss, so it weighs nothing; leave --measure out")
    return weights
