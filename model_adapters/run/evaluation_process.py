"""The process behind one run: builds the backend, lets lmms-eval evaluate it, writes logs and `run.json`.

Started by `tlive run` as `python -m tliveomni_eval.model_adapters.run.evaluation_process SPECIFICATION [DESCRIPTOR]`.
"""

from __future__ import annotations

import importlib
import math
import os
import signal
import sys
import time
import traceback
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from tliveomni_eval.evals.canaries.canary_result import CanaryResult, failures
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.logs.run_info import QuarantinedSample, RunInfo, read_run_info
from tliveomni_eval.model_adapters.model_index import MODELS
from tliveomni_eval.model_adapters.run.child_process import INTERRUPTED_STATUS
from tliveomni_eval.model_adapters.run.fast_start import import_lazily
from tliveomni_eval.model_adapters.run.log_swap import write_logs
from tliveomni_eval.model_adapters.run.machine_facts import hardware, package_versions
from tliveomni_eval.model_adapters.run.run_events import Answered, EventWriter, Failed, Loaded, Scored
from tliveomni_eval.model_adapters.run.run_specification import RunSpecification
from tliveomni_eval.model_adapters.run.supervised_run import ENGINE_DIED_STATUS
from tliveomni_eval.model_adapters.vllm_backend.engine_deaths import noted_deaths
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import EngineDiedError

if TYPE_CHECKING:
    from tliveomni_eval.model_adapters.transformers_backend.adapter import TLiveOmniHF
    from tliveomni_eval.model_adapters.vllm_backend.adapter import TLiveOmniVLLM

DEFAULT_BACKEND = "tliveomni_vllm"


def main(arguments: list[str]) -> int:
    """Run one specification.

    Args:
        arguments: Path of the specification, and the write end of an event pipe.

    Returns:
        Exit status: 0 where every task finished and its logs are whole.
    """
    specification = RunSpecification.model_validate_json(Path(arguments[0]).read_bytes())
    events = EventWriter(int(arguments[1]) if len(arguments) > 1 else None)
    # A shell starts background jobs with this signal ignored, and `tlive run` ends its runs by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    _keep_to_cores(specification.cores)
    try:
        with FileLock(specification.run_folder / ".lock", timeout=0):
            return _evaluate(specification, events)
    except Timeout:
        events.send(
            Failed(
                message=f"another process is writing {specification.run_folder}; wait for it or choose another folder"
            )
        )
        return 1


def _keep_to_cores(cores: list[int]) -> None:
    if not cores:
        return
    import torch

    os.sched_setaffinity(0, cores)
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", ",".join(map(str, cores)))
    torch.set_num_threads(len(cores))


def _evaluate(specification: RunSpecification, events: EventWriter) -> int:
    run = _RunFile(specification)
    try:
        scored = _answer_and_score(specification, events, run)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        run.finish(INTERRUPTED_STATUS, "interrupted; completed responses are in the journal, run again to go on")
        return INTERRUPTED_STATUS
    except EngineDiedError as error:
        # What was in the engine stays noted: `tlive run` starts a process that asks it again.
        traceback.print_exc()
        events.send(Failed(message=f"its engine failed: {error}"))
        run.finish(ENGINE_DIED_STATUS, f"its engine failed: {error}")
        return ENGINE_DIED_STATUS
    except Exception as error:
        message = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
        if not isinstance(error, UserError):
            traceback.print_exc()
        events.send(Failed(message=message))
        run.finish(1, message)
        return 1
    run.finish(0, None)
    events.send(scored)
    return 0


def _answer_and_score(specification: RunSpecification, events: EventWriter, run: _RunFile) -> Scored:
    began = time.monotonic()
    import_lazily("evaluate")
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.loggers import EvaluationTracker
    from lmms_eval.tasks import TaskManager
    from loguru import logger
    from tliveomni_eval.model_adapters.run.canary_phase import canaries_of_run
    from tliveomni_eval.model_adapters.vllm_backend.response_journal import JOURNAL_NAME, ResponseJournal

    # lmms-eval shows warnings only; run.log is also to say what the backend chose.
    logger.add(sys.stderr, level="INFO", filter="tliveomni_eval")
    task_manager = TaskManager(model_name=specification.backend, include_defaults=not specification.only_our_tasks)
    unknown = [name for name in specification.tasks if name not in task_manager.all_tasks]
    if unknown:
        from tliveomni_eval.evals.errors import nearest_name

        near = nearest_name(unknown[0], task_manager.all_tasks)
        hint = f"; did you mean {near!r}?" if near else "; `tlive tasks` and `lmms-eval --tasks list` list all"
        raise UserError(f"unknown task {unknown[0]!r}{hint}")
    with (
        ResponseJournal(specification.run_folder / JOURNAL_NAME) as journal,
        noted_deaths(specification.run_folder, specification.after_engine_death) as deaths,
    ):
        kept = len(journal)
        model = _backend_class(specification.backend)(
            journal=journal,
            progress=lambda done, total: events.send(Answered(done=done, total=total)),
            model=specification.model,
            variant=specification.variant,
            **specification.model_args,
        )
        model.deaths = deaths
        if model.model_name == DEFAULT_BACKEND:
            model.hang_timeout_s = specification.hang_timeout_s
            if specification.canaries:
                model.before_end = lambda: run.note_canaries(canaries_of_run(model, specification.run_folder))
        run.describe_backend(model)
        ready_after = time.monotonic() - began
        started = model.engine_started
        events.send(Loaded(kernels=list(model.kernels), engine_started=started, seconds=ready_after))
        answering = time.monotonic()
        tracker = EvaluationTracker(output_path=str(specification.run_folder / "unused"))
        results = simple_evaluate(
            model=model,
            model_args=_logged_model_args(specification),
            tasks=specification.tasks,
            limit=specification.limit,
            task_manager=task_manager,
            log_samples=True,
            evaluation_tracker=tracker,
            bootstrap_iters=0,
            batch_size=1,
        )
        seconds = time.monotonic() - answering
        if not results or not results.get("results"):
            raise UserError("lmms-eval returned no results")
        # lmms-eval was given the model itself; what it logs, and copies deeply, must be its name.
        results["config"]["model"] = tracker.general_config_tracker.model_source = specification.backend
        answered = len(journal) - kept
        samples = results.pop("samples")
        write_logs(specification.run_folder, tracker, results, samples)
        run.describe_tasks(model, results)
        total = sum(len(rows) for rows in samples.values())
    quarantined = [f"{one.task} document {one.document} ({one.reason})" for one in model.quarantined]
    return Scored(
        scores=_scores(results),
        from_journal=max(0, total - answered - len(quarantined)),
        answered=answered,
        seconds=seconds,
        quarantined=quarantined,
        failed_canaries=run.failed_canaries,
    )


def _backend_class(name: str) -> Any:
    module, _, class_name = MODELS[name][0].rpartition(".")
    return getattr(importlib.import_module(module), class_name)


def _logged_model_args(specification: RunSpecification) -> str:
    given = {
        "model": specification.model or "tliveomni-nano",
        "variant": specification.variant,
        **specification.model_args,
    }
    return ",".join(f"{key}={value}" for key, value in given.items() if value != "")


def _scores(results: dict[str, Any]) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for task, metrics in results["results"].items():
        values = {
            key.split(",")[0]: float(value)
            for key, value in metrics.items()
            # A metric that counted nothing is nan: nothing was said of it, which an event cannot carry as a number.
            if isinstance(value, (int, float)) and math.isfinite(value) and "_stderr" not in key
        }
        scores[task] = values
    return scores


class _RunFile:
    """Keeps `run.json` true while the run goes on: begun, described, finished."""

    def __init__(self, specification: RunSpecification) -> None:
        self._folder = specification.run_folder
        self._began = time.monotonic()
        self._fields: dict[str, Any] = {
            "name": specification.name,
            "variant": specification.variant or None,
            "model": specification.backend,
            "tasks": specification.tasks,
            "limit": specification.limit,
            "command": specification.command,
            # They look for faults of vLLM.
            "canaries_off": not specification.canaries or specification.backend != DEFAULT_BACKEND,
            "start": datetime.now(UTC),
        }

    @property
    def failed_canaries(self) -> list[str]:
        """Name and summary of each canary that failed."""
        return [f"{result.name}: {result.summary}" for result in failures(self._fields.get("canaries", []))]

    def note_canaries(self, results: list[CanaryResult]) -> None:
        """Note what the canaries found."""
        self._fields["canaries"] = results

    def describe_backend(self, model: TLiveOmniVLLM | TLiveOmniHF) -> None:
        """Note checkpoint, engine and machine, and write the file for the first time."""
        from tliveomni_eval.model_adapters.canaries.input_fingerprint import input_fingerprint

        self._fields |= {
            "checkpoint": model.fingerprint.model_copy(update={"path": _portable(model.checkpoint.folder)}),
            "engine_args": {**model.settings.engine_args, "model": _portable(model.checkpoint.folder)},
            "kernels": list(model.kernels) or self._kernels_of_last_run(model.fingerprint.fingerprint),
            "input_processing": input_fingerprint(model.template),
            "versions": package_versions(),
            "hardware": hardware() | {"device": model.device_kind},
        }
        RunInfo(**self._fields).write(self._folder)

    def _kernels_of_last_run(self, fingerprint: str) -> list[str]:
        path = self._folder / "run.json"
        try:
            last = read_run_info(path)
        except UserError:
            return []
        return last.kernels if last.checkpoint.fingerprint == fingerprint else []

    def describe_tasks(self, model: TLiveOmniVLLM | TLiveOmniHF, results: dict[str, Any]) -> None:
        """Note data, prompts, decoding and scorers of the tasks that were evaluated."""
        from tliveomni_eval.tasks.data_location import data_fingerprint, data_folder
        from tliveomni_eval.tasks.manifest import load_samples
        from tliveomni_eval.tasks.task_index import read_task_index

        ours = read_task_index()
        data, parsers = {}, {}
        for task in results["configs"]:
            if task in ours:
                folder = data_folder(task)
                data[task] = data_fingerprint(folder, load_samples(folder, task))
            parsers[task] = str(results["versions"].get(task))
        self._fields |= {
            "data": data,
            "parsers": parsers,
            "prompts": {task: model.prompt_fingerprint(task) for task in results["configs"]},
            "decoding": {task: config.get("generation_kwargs") for task, config in results["configs"].items()},
            "kernels": list(model.kernels) or self._fields["kernels"],
            "ignored_media": model.ignored_media.by_task,
            "media": model.media_settings.as_record(),
            "quarantined": [
                QuarantinedSample(task=one.task, document=one.document, reason=one.reason) for one in model.quarantined
            ],
        }

    def finish(self, exit_status: int, error: str | None) -> None:
        """Note how the run ended."""
        if "checkpoint" in self._fields:
            # By a clock that nobody sets: a run that ends before it began could not be written.
            end = self._fields["start"] + timedelta(seconds=time.monotonic() - self._began)
            self._fields |= {"end": end, "exit_status": exit_status, "error": error}
            RunInfo(**self._fields).write(self._folder)


def _portable(folder: Path) -> str:
    """Path of a checkpoint as it should stand in a record: embedded ones by name."""
    embedded = Path(__file__).parents[1] / "nano" / "checkpoints"
    return f"tliveomni-nano/{folder.name}" if folder.parent == embedded else str(folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
