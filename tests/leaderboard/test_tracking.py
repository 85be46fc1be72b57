"""Runs in MLflow and W&B, written and read back through their own libraries."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from synthetic_run import careless, right, samples, write_run
from tliveomni_eval.leaderboard.page_data import PageOverview
from tliveomni_eval.leaderboard.report import overview_of
from tliveomni_eval.leaderboard.tracking.mlflow_tracking import log_to_mlflow
from tliveomni_eval.leaderboard.tracking.track_command import command
from tliveomni_eval.leaderboard.tracking.tracked_run import metric_name, tracked_runs
from tliveomni_eval.leaderboard.tracking.tracking_error import TrackingError


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tracked")
    data = samples(96)
    write_run(folder, "bf16", data, right)
    write_run(folder, "w4a16", data, careless(right))
    return folder


@pytest.fixture(scope="module")
def overview(runs: Path) -> PageOverview:
    return overview_of([runs])


def test_what_is_tracked_is_what_the_matrix_shows(overview: PageOverview) -> None:
    baseline, candidate = tracked_runs(overview)
    row = next(row for row in overview.rows if row.value == "price")
    assert (baseline.tags["tlive.role"], candidate.tags["tlive.role"]) == ("baseline", "candidate")
    assert candidate.tags["tlive.verdict"] == overview.candidates[0].verdict
    assert baseline.metrics["live_ocr.field/price.quality"] == row.cells[0].baseline_quality == 1
    assert candidate.metrics["live_ocr.field/price.loss"] == row.cells[0].loss
    assert candidate.metrics["live_ocr.field/price.loss_low"] == row.cells[0].low
    assert candidate.metrics["slices/BREACH"] == overview.candidates[0].counts["BREACH"]
    assert candidate.parameters["engine.quantization"] == "compressed-tensors"
    assert "price" in candidate.files["release-matrix.csv"]


@given(st.lists(st.text(max_size=12), min_size=2, max_size=8, unique=True))
def test_names_are_taken_by_every_tracker_and_no_two_fall_together(values: list[str]) -> None:
    from mlflow.utils.validation import _validate_metric_name

    names = [metric_name("live_ocr.field", f"{value}.loss") for value in values]
    assert len(set(names)) == len(names)
    for name in names:
        _validate_metric_name(name)


def test_mlflow_keeps_each_run_once(overview: PageOverview, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    tracked = tracked_runs(overview)
    first = log_to_mlflow(tracked, "releases", str(tmp_path / "mlruns"))
    assert [is_new for _, is_new in first] == [True, True]
    assert log_to_mlflow(tracked, "releases", str(tmp_path / "mlruns")) == [(run_id, False) for run_id, _ in first]
    client = MlflowClient(tracking_uri=(tmp_path / "mlruns").as_uri())
    experiment = client.get_experiment_by_name("releases")
    assert experiment is not None
    assert len(client.search_runs([experiment.experiment_id])) == 2
    found = client.get_run(first[1][0])
    assert found.info.status == "FINISHED" and found.info.run_name == "w4a16"
    assert found.data.metrics == dict(tracked[1].metrics)
    assert found.data.params == dict(tracked[1].parameters)
    assert found.data.tags["tlive.verdict"] == "BREACH"
    assert {file.path for file in client.list_artifacts(first[1][0])} == set(tracked[1].files)


def test_wandb_offline_writes_what_sync_sends(runs: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        command, [str(runs), "--to", "wandb", "--offline", "--folder", str(tmp_path), "--project", "releases"]
    )
    assert result.exit_code == 0, result.output
    places = [Path(line.split()[1]) for line in result.output.splitlines() if line.startswith("logged")]
    assert len(places) == 2
    assert "price" in (places[1] / "files" / "release-matrix.csv").read_text(encoding="utf-8")
    records = list(_records(next(places[1].glob("*.wandb"))))
    (run,) = [record.run for record in records if record.HasField("run")]
    assert (run.display_name, run.project) == ("w4a16", "releases")
    assert {item.key for item in run.config.update} >= {"engine.quantization", "versions.vllm"}
    summary = {
        item.key or "/".join(item.nested_key): item.value_json
        for record in records
        if record.HasField("summary")
        for item in record.summary.update
    }
    assert float(summary["live_ocr.field/price.loss"]) > 0.015


def _records(path: Path) -> Iterator[object]:
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    store = DataStore()
    store.open_for_scan(str(path))
    while (data := store.scan_data()) is not None:
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        yield record


def test_options_of_the_other_tracker_are_refused(runs: Path) -> None:
    for words in (["--to", "mlflow", "--offline"], ["--to", "wandb", "--uri", "mlruns"], ["--to", "comet"]):
        assert CliRunner().invoke(command, [str(runs), *words]).exit_code == 2


def test_errors_say_what_to_do(overview: PageOverview, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.raises(TrackingError, match="MLflow at file:"):
        log_to_mlflow(tracked_runs(overview), "x", str(blocked / "mlruns"))
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(TrackingError, match=r"pip install 'tliveomni-eval\[tracking\]'"):
        log_to_mlflow([], "x", str(tmp_path))
