"""After install lmms-eval knows our models and tasks; without vLLM our adapter says what to install."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import pytest
from lmms_eval.models import get_model_manifest
from lmms_eval.tasks import TaskManager
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.registration import add_tasks_to_task_managers
from tliveomni_eval.model_adapters.vllm_backend import adapter
from tliveomni_eval.tasks.task_index import TASK_FOLDER, leaf_tasks, read_task_index


def test_lmms_eval_resolves_our_model() -> None:
    assert get_model_manifest("tliveomni_vllm").chat_class_path.endswith("adapter.TLiveOmniVLLM")


def test_every_task_manager_knows_our_tasks() -> None:
    index = read_task_index()
    assert "live_ocr" in index
    assert set(index) <= set(TaskManager(include_defaults=False).all_tasks)


def test_registering_twice_and_naming_our_folder_changes_nothing() -> None:
    before = TaskManager.initialize_tasks
    add_tasks_to_task_managers()
    assert TaskManager.initialize_tasks is before
    assert "live_ocr" in TaskManager(include_defaults=False, include_path=str(TASK_FOLDER)).all_tasks


def test_another_include_path_is_kept(tmp_path: Any) -> None:
    (tmp_path / "mine.yaml").write_text("task: my_own_task\n")
    manager = TaskManager(include_defaults=False, include_path=[str(tmp_path)])
    assert {"my_own_task", "live_ocr"} <= set(manager.all_tasks)


def test_without_vllm_the_adapter_says_which_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_installed(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", not_installed)
    with pytest.raises(UserError, match=r"tliveomni-eval\[gpu\].*tliveomni-eval\[cpu\]"):
        adapter.TLiveOmniVLLM()


def test_the_index_agrees_with_lmms_eval_and_the_embedded_data() -> None:
    entry = read_task_index()["live_ocr"]
    assert entry.metadata["headline"] in entry.metrics
    assert entry.embedded_samples >= 1200
    assert leaf_tasks(["live_ocr", "live_ocr", "other"], read_task_index()) == ["live_ocr", "other"]
