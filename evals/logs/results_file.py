"""The `*results*.json` of lmms-eval and lm-evaluation-harness: how each task was run and what its metrics mean."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.logs.json_lines import read_json_file
from tliveomni_eval.evals.logs.log_error import LogError

_NOT_METRICS = {"alias", "samples", "sample_len", "name", " "}


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """One results file, with the parts that lmms-eval 0.7 and lm-eval 0.4 share.

    Attributes:
        path: The file.
        content: The whole object.
    """

    path: Path
    content: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> ResultsFile:
        """Reads and checks a results file.

        Raises:
            LogError: If it is unreadable, or holds no results: lmms-eval ends with status 0 after an error, so such a
                run counts as failed.
        """
        content = read_json_file(path)
        results = content.get("results")
        if not isinstance(results, dict) or not results:
            raise LogError("has no `results`: the run failed, whatever its exit status was", path)
        for key in ("configs", "versions", "higher_is_better", "n-samples", "n-shot"):
            if not isinstance(content.get(key, {}), dict):
                raise LogError(f"`{key}` must be an object, got {str(content[key])[:60]!r}", path)
        return cls(path, content)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks that have samples (groups have none)."""
        counted = self._part("n-samples")
        if counted:
            return tuple(counted)
        groups = self._part("group_subtasks")
        return tuple(task for task in self._part("results") if not groups.get(task))

    @property
    def harness_version(self) -> str | None:
        """Version of the harness that wrote the file, where it says.

        lmms-eval writes the branch and commit of whatever repository it was started in (`main@1a2b3c4d`), which says
        nothing about lmms-eval and is passed over.
        """
        for key in ("lmms_eval_version", "lm_eval_version"):
            version = self.content.get(key)
            if isinstance(version, str) and re.match(r"v?\d+\.\d+", version):
                return version
        return None

    @property
    def model(self) -> str:
        """The evaluated model with its arguments, as the harness was told."""
        config = self._part("config")
        parts = [config.get("model"), self.content.get("model_name"), config.get("model_args")]
        return " ".join(part if isinstance(part, str) else json.dumps(part) for part in parts if part)

    def higher_is_better(self, task: str) -> dict[str, bool]:
        """Metric name to its direction, for the metrics whose direction the harness wrote down."""
        return {
            name: direction
            for name, direction in self._task_part("higher_is_better", task).items()
            if isinstance(direction, bool)
        }

    def metric_names(self, task: str) -> tuple[str, ...]:
        """Metrics of a task without filters, in the order the task lists them; empty where the file does not say."""
        listed = self._task_part("configs", task).get("metric_list")
        names: dict[str, None] = {}
        if isinstance(listed, list):
            names |= {
                entry["metric"]: None for entry in listed if isinstance(entry, dict) and _is_name(entry.get("metric"))
            }
        names |= dict.fromkeys(self._task_part("higher_is_better", task))
        names |= {key.partition(",")[0]: None for key in self._filtered_keys(task)}
        return tuple(names)

    def filters(self, task: str) -> tuple[str, ...]:
        """Filters of a task, in the order in which the harness logs them."""
        found = dict.fromkeys(key.partition(",")[2] for key in self._filtered_keys(task))
        listed = self._task_part("configs", task).get("filter_list")
        names = [entry.get("name") for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        ordered = [name for name in names if _is_name(name) and name in found]
        return tuple(dict.fromkeys([*ordered, *found])) or ("none",)

    def expected_samples(self, task: str) -> int | None:
        """How many samples the task should have logged; None where the file cannot say."""
        effective = self._task_part("n-samples", task).get("effective")
        if isinstance(effective, int) and effective >= 1 and not self._part("config").get("offset"):
            return effective
        return None

    def metadata(self, task: str) -> dict[str, Any]:
        """The `metadata` of the task's YAML: `version`, and for our tasks `headline`, `ability`, `slices`, …."""
        metadata = self._task_part("configs", task).get("metadata")
        return metadata if isinstance(metadata, dict) else {}

    def settings(self, task: str) -> dict[str, Any]:
        """What must be equal for two runs of the task to be comparable, and its metadata."""
        config = self._task_part("configs", task)
        return {
            "version": self._part("versions").get(task),
            "num_fewshot": self._part("n-shot").get(task),
            "generation_kwargs": config.get("generation_kwargs"),
            "system_instruction": self.content.get("system_instruction"),
            "harness_version": self.harness_version,
            "metadata": self.metadata(task),
        }

    def _part(self, key: str) -> dict[str, Any]:
        part = self.content.get(key)
        return part if isinstance(part, dict) else {}

    def _task_part(self, key: str, task: str) -> dict[str, Any]:
        part = self._part(key).get(task)
        return part if isinstance(part, dict) else {}

    def _filtered_keys(self, task: str) -> list[str]:
        return [
            key
            for key in self._task_part("results", task)
            if "," in key and "_stderr" not in key and key.partition(",")[0] not in _NOT_METRICS
        ]


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
