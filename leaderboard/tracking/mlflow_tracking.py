"""Runs into MLflow, through its client: a folder, a database, or a server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tliveomni_eval.leaderboard.tracking.tracked_run import TrackedRun
from tliveomni_eval.leaderboard.tracking.tracking_error import TrackingError, not_installed

_MOST_METRICS = 900
_MOST_PARAMETERS = 90
"""MLflow takes at most 1,000 metrics and 100 parameters in one request."""


def log_to_mlflow(runs: Sequence[TrackedRun], experiment: str, uri: str | None) -> list[tuple[str, bool]]:
    """Logs runs; one that is there already, by its tag `tlive.id`, is not logged again.

    Args:
        runs: The runs.
        experiment: Name of the experiment; made where it does not exist.
        uri: A folder, `sqlite:///FILE` or the address of a server; None takes `MLFLOW_TRACKING_URI`, else `mlruns`.

    Returns:
        For each run its id in MLflow, and whether it is new.

    Raises:
        TrackingError: If MLflow is not installed, cannot be reached, or refuses something.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # Nothing is sent but to the tracker that is named.
    try:
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
    except ImportError as error:
        raise not_installed("mlflow") from error
    place = _resolved(uri or os.environ.get("MLFLOW_TRACKING_URI") or "mlruns")
    try:
        client = MlflowClient(tracking_uri=place)
        known = client.get_experiment_by_name(experiment)
        experiment_id = known.experiment_id if known else client.create_experiment(experiment)
        return [_log(client, experiment_id, run) for run in runs]
    except (MlflowException, OSError) as error:
        raise TrackingError(f"MLflow at {place}: {str(error).splitlines()[0]}") from error


def _resolved(uri: str) -> str:
    if "://" in uri or uri.startswith("file:") or uri == "databricks":
        if uri.startswith("file:"):
            _allow_folder()
        return uri
    _allow_folder()
    return Path(uri).resolve().as_uri()


def _allow_folder() -> None:
    """MLflow 3.11 and later open a folder only where this is set; whoever names a folder means it."""
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")


def _log(client: object, experiment_id: str, run: TrackedRun) -> tuple[str, bool]:
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param, RunTag

    assert isinstance(client, MlflowClient)
    again = client.search_runs([experiment_id], f"tags.`tlive.id` = '{run.id}'", max_results=1)
    if again:
        return str(again[0].info.run_id), False
    started = int(run.started.timestamp() * 1000) if run.started else None
    run_id = str(client.create_run(experiment_id, start_time=started, run_name=run.name).info.run_id)
    metrics = [Metric(name, value, started or 0, 0) for name, value in run.metrics.items()]
    parameters = [Param(name, value) for name, value in run.parameters.items()]
    for first in range(0, len(metrics), _MOST_METRICS):
        client.log_batch(run_id, metrics=metrics[first : first + _MOST_METRICS])
    for first in range(0, len(parameters), _MOST_PARAMETERS):
        client.log_batch(run_id, params=parameters[first : first + _MOST_PARAMETERS])
    for name, text in run.files.items():
        client.log_text(run_id, text, name)
    # The tag that says the run is complete comes last: an interrupted one is logged anew.
    client.log_batch(run_id, tags=[RunTag(key, value) for key, value in {**run.tags, "tlive.id": run.id}.items()])
    client.set_terminated(run_id)
    return run_id, True
