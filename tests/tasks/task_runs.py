"""Run a task the way lmms-eval does, with a function in place of a model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any

import lmms_eval.models  # noqa: F401 - loads the entry points, which make our tasks known
from lmms_eval.tasks import TaskManager, get_task_dict

Model = Callable[[dict[str, Any]], str | None]


@cache
def manager() -> TaskManager:
    return TaskManager(include_defaults=False)


def load(name: str) -> Any:
    """The lmms-eval task object."""
    return get_task_dict([name], manager())[name]


def run_task(task: Any, model: Model, limit: int | None = None) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Aggregated metrics and logged samples of a task under a model."""
    items: dict[str, list[Any]] = defaultdict(list)
    logged = []
    for doc in list(task.eval_docs)[:limit]:
        line = task.process_results(doc, [model(doc)])
        logged.append(line)
        for name, value in line.items():
            items[name].append(value)
    aggregations = task.aggregation()
    return {name: float(aggregations[name](values)) for name, values in items.items()}, logged
