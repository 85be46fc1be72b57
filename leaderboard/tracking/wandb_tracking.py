"""Runs into Weights & Biases, through its library, online or offline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tliveomni_eval.leaderboard.tracking.tracked_run import TrackedRun
from tliveomni_eval.leaderboard.tracking.tracking_error import TrackingError, not_installed


def log_to_wandb(runs: Sequence[TrackedRun], project: str, folder: Path, offline: bool) -> list[Path]:
    """Logs runs. Their ids follow from what they hold, so that a run that is logged again replaces itself.

    Args:
        runs: The runs.
        project: Name of the project.
        folder: Folder for W&B's own files.
        offline: Whether to write the files only; `wandb sync FOLDER` sends them later.

    Returns:
        The folder that W&B wrote for each run.

    Raises:
        TrackingError: If W&B is not installed, cannot be reached, or refuses something.
    """
    try:
        import wandb
    except ImportError as error:
        raise not_installed("wandb") from error
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for run in runs:
            session = wandb.init(
                project=project,
                id=run.id,
                name=run.name,
                dir=str(folder),
                mode="offline" if offline else "online",
                resume=None if offline else "allow",
                config=dict(run.parameters),
                tags=[value[:64] for value in run.tags.values()],
                reinit="finish_previous",
                settings=wandb.Settings(silent=True, console="off", disable_git=True, disable_code=True),
            )
            session.summary.update(dict(run.metrics))
            for name, text in run.files.items():
                path = Path(session.dir) / name
                path.write_text(text, encoding="utf-8")
                session.save(str(path), base_path=session.dir, policy="now")
            written.append(Path(session.dir).parent)
            session.finish()
    except (wandb.errors.Error, OSError) as error:
        raise TrackingError(f"W&B: {str(error).splitlines()[0] if str(error) else type(error).__name__}") from error
    return written
