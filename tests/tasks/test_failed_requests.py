"""A request that failed has no answer: every task of ours counts it as `error`, and not as an empty answer."""

from __future__ import annotations

import pytest
from task_runs import load
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA

TASKS = sorted(path.name for path in EMBEDDED_DATA.iterdir() if (path / "manifest.jsonl").is_file())


@pytest.mark.parametrize("name", TASKS)
def test_a_failed_request_is_an_error_and_an_empty_answer_is_empty(name: str) -> None:
    task = load(name)
    doc = task.eval_docs[0]
    failed, empty = task.process_results(doc, [None]), task.process_results(doc, [""])
    assert (failed["record"]["status"], empty["record"]["status"]) == ("error", "empty")
    scores = [value["num"] for key, value in failed.items() if key != "record" and "num" in value]
    assert scores == [value["num"] for key, value in empty.items() if key != "record" and "num" in value]
