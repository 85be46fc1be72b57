"""Entry point `lmms_eval.models`: our models become known to lmms-eval, and our tasks with them.

lmms-eval has an entry-point group for models and none for tasks, and it loads the models before it builds its task
index; so this is where our task folder is added to every `TaskManager`. Nothing heavy is imported here: lmms-eval loads
this module for every model, ours or not, with vLLM installed or not.
"""

from __future__ import annotations

import functools
from typing import Any

from lmms_eval.models.registry_v2 import ModelManifest
from tliveomni_eval.model_adapters.model_index import MODELS
from tliveomni_eval.tasks.task_index import TASK_FOLDER


def model_manifests() -> list[ModelManifest]:
    """Our models, as lmms-eval wants them; adds our task folder to lmms-eval's task index on the way."""
    add_tasks_to_task_managers()
    return [ModelManifest(model_id=name, chat_class_path=class_path) for name, (class_path, _) in MODELS.items()]


def add_tasks_to_task_managers() -> None:
    """Make every `TaskManager` built from now on read our task folder too; calling it again changes nothing."""
    from lmms_eval.tasks import TaskManager

    original = TaskManager.initialize_tasks
    if hasattr(original, "adds_tliveomni_tasks"):
        return

    @functools.wraps(original)
    def initialize_tasks(
        self: Any, include_path: str | list[str] | None = None, include_defaults: bool = True
    ) -> dict[str, Any]:
        given = [include_path] if isinstance(include_path, str) else list(include_path or [])
        if str(TASK_FOLDER) not in given:
            given.append(str(TASK_FOLDER))
        index: dict[str, Any] = original(self, include_path=given, include_defaults=include_defaults)
        # Of two tasks of one name lmms-eval keeps its own; `mmmu_val` and others are ours, which guess nothing.
        ours: dict[str, Any] = self._get_task_and_group(str(TASK_FOLDER))
        return index | ours

    initialize_tasks.adds_tliveomni_tasks = True  # type: ignore[attr-defined]
    TaskManager.initialize_tasks = initialize_tasks
