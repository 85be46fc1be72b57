"""`tlive track`: log runs and their verdicts to an experiment tracker."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("track")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", type=click.Path(path_type=Path))
@click.option("--to", "tracker", required=True, type=click.Choice(["mlflow", "wandb"]), help="The tracker.")
@click.option("--baseline", metavar="NAME", help="Variant or name of the baseline  [default: bf16, else the first run]")
@click.option("--policy", type=click.Path(path_type=Path), help="Policy of the gate  [default: 1.5 % for every slice]")
@click.option("--project", default="tliveomni-eval", show_default=True, help="Experiment of MLflow, project of W&B.")
@click.option("--uri", help="MLflow: a folder, sqlite:///FILE or a server  [default: MLFLOW_TRACKING_URI, else mlruns]")
@click.option("--offline", is_flag=True, help="W&B: write files only; `wandb sync` sends them later.")
@click.option(
    "--folder", default=".", show_default=True, type=click.Path(path_type=Path), help="W&B: where its files go."
)
def command(
    runs: tuple[Path, ...],
    tracker: str,
    baseline: str | None,
    policy: Path | None,
    project: str,
    uri: str | None,
    offline: bool,
    folder: Path,
) -> None:
    """Log runs, with the gate's verdict on each, to MLflow or Weights & Biases through their own libraries.

    Each run becomes one run there: how it was made as parameters, quality, loss and interval of every slice as metrics,
    and the release matrix as files. Needs `pip install 'tliveomni-eval[tracking]'`.
    """
    from tliveomni_eval.leaderboard.report import overview_of
    from tliveomni_eval.leaderboard.tracking.mlflow_tracking import log_to_mlflow
    from tliveomni_eval.leaderboard.tracking.tracked_run import tracked_runs
    from tliveomni_eval.leaderboard.tracking.wandb_tracking import log_to_wandb

    if tracker == "mlflow" and offline:
        raise click.UsageError("--offline is for wandb; MLflow writes to a folder with --uri FOLDER")
    if tracker == "wandb" and uri is not None:
        raise click.UsageError("--uri is for mlflow; W&B has --project, --folder and --offline")
    tracked = tracked_runs(overview_of(runs, baseline=baseline, policy=policy))
    if tracker == "mlflow":
        for run, (run_id, is_new) in zip(tracked, log_to_mlflow(tracked, project, uri), strict=True):
            click.echo(f"{'logged' if is_new else 'known '}  {run_id}  {run.name}  {run.tags.get('tlive.verdict', '')}")
    else:
        for run, place in zip(tracked, log_to_wandb(tracked, project, folder, offline), strict=True):
            click.echo(f"logged  {place}  {run.name}  {run.tags.get('tlive.verdict', '')}")
