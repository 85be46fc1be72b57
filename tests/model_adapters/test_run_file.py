"""`run.json` stays true whatever the clock does."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

import pytest
from tliveomni_eval.evals.logs.run_info import Checkpoint, read_run_info
from tliveomni_eval.model_adapters.run import evaluation_process
from tliveomni_eval.model_adapters.run.run_specification import RunSpecification


class SetBack(datetime):
    """A clock that is ten years earlier each time it is looked at."""

    jumped = timedelta()

    @classmethod
    def now(cls, zone: tzinfo | None = None) -> Self:
        cls.jumped -= timedelta(days=3650)
        return super().now(zone) + cls.jumped


def test_a_clock_that_is_set_back_during_a_run_does_not_spoil_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation_process, "datetime", SetBack)
    specification = RunSpecification(
        run_folder=tmp_path, name="x", variant="bf16", tasks=["live_ocr"], only_our_tasks=True
    )
    run = evaluation_process._RunFile(specification)
    run._fields["checkpoint"] = Checkpoint(path="x", fingerprint="f")
    run.finish(0, None)
    info = read_run_info(tmp_path / "run.json")
    assert info.exit_status == 0
    assert info.duration_s is not None and 0 <= info.duration_s < 60
