"""The code of `interrupted_runs.py` with one kill, over real vLLM; and that it would see what it looks for."""

from __future__ import annotations

from pathlib import Path

import pytest
from interrupted_runs import FaultError, check_equal_logs, check_kept, run_under_kills


def test_a_kill_loses_and_repeats_nothing_and_the_logs_are_those_of_a_run_in_peace(tmp_path: Path) -> None:
    words = ["--no-canaries", "--model-args", "max_num_seqs=2"]
    tally = run_under_kills(tmp_path, ["bf16"], ["evaluation process"], limit=12, seed=1, words=words)
    assert tally.kills["evaluation process"] == 1
    assert tally.answers == 12


def test_a_lost_and_a_repeated_response_are_seen() -> None:
    before = {"a": ("x", 1.0), "b": ("y", 2.0)}
    check_kept(before, before | {"c": ("z", 3.0)})
    with pytest.raises(FaultError, match="1 completed responses are lost, first a"):
        check_kept(before, {"b": ("y", 2.0)})
    with pytest.raises(FaultError, match="1 completed responses were given again, first b"):
        check_kept(before, {"a": ("x", 1.0), "b": ("y", 2.5)})


@pytest.mark.parametrize("changed", ["", "line", "score", "lines", "file"])
def test_logs_are_compared_apart_from_their_times(tmp_path: Path, changed: str) -> None:
    for name, date in (("a", "20260101_000000"), ("b", "20270101_235959")):
        logs = tmp_path / name / "lmms_eval" / "nano"
        logs.mkdir(parents=True)
        is_changed = changed if name == "b" else ""
        score = 0.5 if is_changed == "score" else 0.4
        (logs / f"{date}_results.json").write_text(f'{{"date": "{date}", "results": {{"acc": {score}}}}}')
        if is_changed != "file":
            lines = '{"doc_id": 0}\n' + ('{"doc_id": 2}\n' if is_changed == "line" else '{"doc_id": 1}\n')
            lines += '{"doc_id": 3}\n' if is_changed == "lines" else ""
            (logs / f"{date}_samples_live_ocr.jsonl").write_text(lines)
    if changed:
        with pytest.raises(FaultError):
            check_equal_logs(tmp_path / "a", tmp_path / "b")
    else:
        check_equal_logs(tmp_path / "a", tmp_path / "b")
