from __future__ import annotations

from pathlib import Path

from synthetic_run import samples, with_noise, write_run
from tliveomni_eval.evals.canaries.canary_result import CanaryResult
from tliveomni_eval.evals.logs.run_info import QuarantinedSample, read_run_info
from tliveomni_eval.leaderboard.report import overview_of


def test_what_the_canaries_of_each_run_found_is_a_table(tmp_path: Path) -> None:
    data = samples(12)
    for name in ("bf16", "w8a8"):
        run = write_run(tmp_path, name, data, with_noise(0))
    assert overview_of([tmp_path]).canaries == []
    found = [
        CanaryResult(name="modality-image", status="pass", summary="the answers follow the images"),
        CanaryResult(name="modality-audio", status="not_applicable", summary="takes no audio"),
        CanaryResult(name="batch-invariance", status="fail", summary="3 of 8 differ", figures={"share": 0.375}),
    ]
    info = read_run_info(run / "run.json")
    lost = QuarantinedSample(task="live_ocr", document=3, reason="killed")
    info.model_copy(update={"canaries": found, "quarantined": [lost]}).write(run)
    (table,) = overview_of([tmp_path]).canaries
    assert table.title == "w8a8"
    assert "1 sample," in table.note
    assert [row[1] for row in table.rows] == [True, None, False]
    assert table.rows[2] == ["batch-invariance", False, "3 of 8 differ", "share 0.375"]


def test_canaries_that_were_turned_off_are_named(tmp_path: Path) -> None:
    data = samples(12)
    for name in ("bf16", "w8a8"):
        run = write_run(tmp_path, name, data, with_noise(0))
    read_run_info(run / "run.json").model_copy(update={"canaries_off": True}).write(run)
    (table,) = overview_of([tmp_path]).canaries
    assert "turned off" in table.note and table.rows == []
