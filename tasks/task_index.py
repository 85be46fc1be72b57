"""Our tasks and groups, read from their YAML files without importing lmms-eval (which takes many seconds)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from tliveomni_eval.tasks.data_location import embedded_folder
from tliveomni_eval.tasks.manifest import MANIFEST_NAME

TASK_FOLDER = Path(__file__).parent
"""The folder to give to lmms-eval's `--include_path` where it loads no plugin (`lmms-eval tasks list`)."""


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """A task or a group of tasks.

    Attributes:
        name: What `--tasks` takes.
        members: Names of the tasks of a group; empty for a task.
        metrics: Names of the reported metrics, without `record`.
        metadata: `metadata` of the YAML: headline metric, ability, modality, sensitivity, slices, version.
        generation_kwargs: How answers are decoded.
        embedded_samples: Size of the embedded set; 0 where there is none.
    """

    name: str
    members: tuple[str, ...]
    metrics: tuple[str, ...]
    metadata: Mapping[str, Any]
    generation_kwargs: Mapping[str, Any]
    embedded_samples: int


class _TaskLoader(yaml.SafeLoader):
    """Reads a task's YAML as data: `!function` stays a name."""


def _function_name(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


_TaskLoader.add_constructor("!function", _function_name)


def read_task_index(folder: Path = TASK_FOLDER) -> dict[str, TaskEntry]:
    """All tasks and groups below a folder, by name.

    Args:
        folder: Folder of task YAML files.
    """
    entries = {}
    for path in sorted(folder.rglob("*.yaml")):
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_TaskLoader)
        if isinstance(content, dict) and "task" in content:
            entry = _entry(content)
            entries[entry.name] = entry
    return entries


def _entry(content: dict[str, Any]) -> TaskEntry:
    is_group = isinstance(content["task"], list)
    name = content["group"] if is_group else content["task"]
    metrics = tuple(item["metric"] for item in content.get("metric_list", ()) if item["metric"] != "record")
    manifest = embedded_folder(name) / MANIFEST_NAME
    samples = _samples_of(manifest, name) if manifest.is_file() else 0
    return TaskEntry(
        name=name,
        members=tuple(content["task"]) if is_group else (),
        metrics=metrics,
        metadata=content.get("metadata") or {},
        generation_kwargs=content.get("generation_kwargs") or {},
        embedded_samples=samples,
    )


def _samples_of(manifest: Path, task: str) -> int:
    with manifest.open("rb") as file:
        return sum(1 for line in file if line.strip() and json.loads(line)["task"] == task)


def leaf_tasks(names: list[str], index: Mapping[str, TaskEntry]) -> list[str]:
    """Replace groups by their tasks, keeping the order and naming each task once.

    Args:
        names: Names of tasks and groups; a name the index lacks is kept.
        index: Our tasks and groups.
    """
    leaves: dict[str, None] = {}
    for name in names:
        members = index[name].members if name in index else ()
        leaves.update(dict.fromkeys(leaf_tasks(list(members), index) if members else [name]))
    return list(leaves)
