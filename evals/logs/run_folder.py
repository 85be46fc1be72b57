"""A run read from its folder: ours, one of plain `lmms-eval --log_samples`, or one of lm-evaluation-harness."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.log_files import LogFile, LogFiles, find_log_files
from tliveomni_eval.evals.logs.results_file import ResultsFile
from tliveomni_eval.evals.logs.run_info import RUN_INFO_NAME, RunInfo, read_run_info
from tliveomni_eval.evals.logs.sample_log import read_sample_log
from tliveomni_eval.evals.logs.task_log import TaskLog


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """One evaluation of one backend.

    Attributes:
        path: The folder.
        run_info: Content of `run.json`; None for a folder that `tlive run` did not make.
        tasks: Task name to its log.
        missing: Task name to the reason why it has no log, for tasks that were asked for.
        superseded: Older logs in the folder that were not read because a newer one of the same task is there.
    """

    path: Path
    run_info: RunInfo | None
    tasks: Mapping[str, TaskLog]
    missing: Mapping[str, str]
    superseded: tuple[Path, ...]

    @property
    def name(self) -> str:
        """A short name for tables: that of `run.json`, else that of the folder."""
        return self.run_info.name if self.run_info else (self.path.name or self.path.resolve().name)


def read_run(path: Path | str, tasks: Collection[str] | None = None) -> Run:
    """Reads the logs of a run.

    Where a folder holds several logs of one task, the newest is read, provided that the same model and the same harness
    version wrote them.

    Args:
        path: A run folder, the output folder of a harness, or one results file (which selects the logs of its date).
        tasks: Names of the tasks to read; all by default.

    Raises:
        LogError: If the folder holds no finished run, or a log cannot be trusted. The message names the file, and the
            line where there is one.
    """
    path = Path(path)
    folder, date = path, None
    if path.is_file():
        folder = path.parent
    files = find_log_files(folder)
    if path.is_file():
        date = next((log.date for log in files.results if log.path == path), None)
        if date is None:
            raise LogError("is neither a run folder nor a results file of lmms-eval or lm-eval", path)
        files = LogFiles(_of_date(files.results, date), _of_date(files.samples, date), files.not_followed)
    run_info = _finished_run_info(folder)
    results = _results_of_one_model(files, folder, is_ours=run_info is not None)
    newest: dict[str, LogFile] = {log.task: log for log in files.samples if log.task is not None}
    by_date = {result.path.parent / log.date: result for result, log in zip(results, files.results, strict=True)}
    read: dict[str, TaskLog] = {}
    for task, log in newest.items():
        if tasks is None or task in tasks:
            result = by_date.get(log.path.parent / log.date)
            if result is None:
                raise LogError("no results file of the same date beside it: the run failed", log.path)
            read[task] = read_sample_log(log, result)
    asked = [task for result in results for task in result.tasks] + (run_info.tasks if run_info and not read else [])
    return Run(
        path=path,
        run_info=run_info,
        tasks=read,
        missing={
            task: "no sample log; lmms-eval and lm-eval write one with --log_samples"
            for task in dict.fromkeys(asked)
            if task not in newest and (tasks is None or task in tasks)
        },
        superseded=tuple(log.path for log in files.samples if newest[log.task or ""] is not log),
    )


def _of_date(logs: tuple[LogFile, ...], date: str) -> tuple[LogFile, ...]:
    return tuple(log for log in logs if log.date == date)


def _finished_run_info(folder: Path) -> RunInfo | None:
    path = folder / RUN_INFO_NAME
    if not path.exists():
        return None
    if not path.resolve().is_relative_to(folder.resolve()):
        raise LogError("is a link out of the run folder; copy the file instead", path)
    run_info = read_run_info(path)
    if run_info.exit_status is None:
        raise LogError("exit_status: the run has not ended, or was killed; run it again to finish it", path)
    if run_info.exit_status != 0:
        reason = f": {run_info.error}" if run_info.error else ""
        raise LogError(f"exit_status: the run failed with status {run_info.exit_status}{reason}", path)
    return run_info


def _results_of_one_model(files: LogFiles, folder: Path, is_ours: bool) -> list[ResultsFile]:
    """Reads all results files and refuses a folder that mixes models or versions of the harness.

    A folder of ours holds one checkpoint, which `run.json` names; a resumed run may change arguments without effect.
    """
    if not files.results:
        if files.samples:
            raise LogError(
                "sample logs but no results file: the run failed before it had results", files.samples[0].path
            )
        links = "".join(f"; {link} is a link and was not followed" for link in files.not_followed[:3])
        raise LogError(f"no results of lmms-eval or lm-eval in this folder: nothing was evaluated{links}", folder)
    folders = sorted({log.path.parent for log in (*files.results, *files.samples)})
    if len(folders) > 1:
        names = ", ".join(str(each) for each in folders)
        raise LogError(f"logs of {len(folders)} models in one folder, name the one you mean: {names}", folder)
    results = [ResultsFile.read(log.path) for log in files.results]
    for what, values in (
        ("harness versions", [result.harness_version for result in results]),
        ("models", [None if is_ours else result.model for result in results]),
    ):
        known = [(result, value) for result, value in zip(results, values, strict=True) if value is not None]
        for result, value in known:
            if value != known[0][1]:
                raise LogError(
                    f"mixed {what} in one folder: {value!r} here, {known[0][1]!r} in {known[0][0].path.name}; "
                    "name the results file you mean instead of the folder",
                    result.path,
                )
    return results
