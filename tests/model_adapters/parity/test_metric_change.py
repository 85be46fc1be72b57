"""The change of a task's metric between two run folders, over some of their samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tliveomni_eval.model_adapters.parity.metric_change import metric_changes

DATE = "20260801_101500"


def write_run(folder: Path, right: list[int], higher_is_better: bool = True) -> Path:
    """One sample each: `hit` counts 1 where it is right; `err` counts 1 where it is wrong."""
    metric = "hit" if higher_is_better else "err"
    rows = [
        {
            "doc_id": index,
            "target": str(index),
            "input": "?",
            "filtered_resps": str(value),
            metric: {"id": f"s{index}", "num": value if higher_is_better else 1 - value, "den": 1},
            "record": {"id": f"s{index}", "cluster": f"c{index}", "slices": {}, "status": "ok", "detail": {}},
        }
        for index, value in enumerate(right)
    ]
    content = {
        "results": {"t": {"alias": "t", f"{metric},none": 0.5}},
        "configs": {"t": {"task": "t", "metric_list": [{"metric": metric}], "metadata": {"headline": metric}}},
        "versions": {"t": 1},
        "higher_is_better": {"t": {metric: higher_is_better}},
        "n-samples": {"t": {"original": len(rows), "effective": len(rows)}},
        "config": {"model": "m"},
        "lmms_eval_version": "0.7.3",
        "model_name": "m",
        "date": DATE,
    }
    (folder / "m").mkdir(parents=True)
    (folder / "m" / f"{DATE}_results.json").write_text(json.dumps(content))
    (folder / "m" / f"{DATE}_samples_t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_the_change_is_on_the_metrics_own_scale_and_over_compared_samples(
    tmp_path: Path, higher_is_better: bool
) -> None:
    ours = write_run(tmp_path / "a", [1] * 8 + [0] * 2, higher_is_better)
    theirs = write_run(tmp_path / "b", [1] * 6 + [0] * 4, higher_is_better)
    change = metric_changes(ours, theirs, {"t": {f"s{index}" for index in range(8)}})["t"]
    sign = 1 if higher_is_better else -1
    assert (change.reference, change.candidate) == pytest.approx((1.0, 0.75) if higher_is_better else (0.0, 0.25))
    assert change.change == pytest.approx(-0.25 * sign)
    assert change.clusters == 8
    assert change.low is not None
    assert change.high is not None
    assert change.low < change.change < change.high


def test_a_task_without_compared_samples_has_no_change(tmp_path: Path) -> None:
    ours, theirs = write_run(tmp_path / "a", [1, 1]), write_run(tmp_path / "b", [1, 0])
    assert metric_changes(ours, theirs, {"t": set(), "other": set()}) == {}
