"""The process behind one side: builds its backend, lets lmms-eval evaluate it, writes records and logs.

Started by `tlive parity` as `python -m tliveomni_eval.model_adapters.parity.side_process SPECIFICATION DESCRIPTOR`.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.parity.side_specification import (
    BACKEND_NAME,
    RECORDS_NAME,
    SideBackend,
    SideSpecification,
)
from tliveomni_eval.model_adapters.parity.token_scores import read_records, write_records
from tliveomni_eval.model_adapters.run.child_process import INTERRUPTED_STATUS
from tliveomni_eval.model_adapters.run.fast_start import import_lazily
from tliveomni_eval.model_adapters.run.run_events import Answered, EventWriter, Failed, Loaded

if TYPE_CHECKING:
    from tliveomni_eval.model_adapters.parity.candidate_side import CandidateSide
    from tliveomni_eval.model_adapters.parity.reference_side import ReferenceSide

SMALL_WEIGHTS = 200 * 2**20
"""Bytes of weights below which vLLM computes on one core."""


def main(arguments: list[str]) -> int:
    """Run one side.

    Args:
        arguments: Path of the specification, and the write end of an event pipe.

    Returns:
        Exit status: 0 where its records and logs are written.
    """
    specification = SideSpecification.model_validate_json(Path(arguments[0]).read_bytes())
    events = EventWriter(int(arguments[1]) if len(arguments) > 1 else None)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        _evaluate(specification, events)
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS
    except UserError as error:
        events.send(Failed(message=str(error)))
        return 1
    except Exception as error:
        import traceback

        traceback.print_exc()
        events.send(Failed(message=f"{type(error).__name__}: {error}"))
        return 1
    return 0


def _evaluate(specification: SideSpecification, events: EventWriter) -> None:
    began = time.monotonic()
    import_lazily("evaluate")
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.loggers import EvaluationTracker
    from lmms_eval.tasks import TaskManager
    from tliveomni_eval.model_adapters.registration import add_tasks_to_task_managers

    add_tasks_to_task_managers()
    task_manager = TaskManager(include_defaults=not specification.only_our_tasks)
    unknown = [name for name in specification.tasks if name not in task_manager.all_tasks]
    if unknown:
        raise UserError(f"unknown task {unknown[0]!r}; `tlive tasks` and `lmms-eval --tasks list` list all")
    model = _backend(specification, events)
    kernels, dtype = list(model.kernels), _dtype_of(model)
    events.send(Loaded(kernels=kernels, seconds=time.monotonic() - began))
    tracker = EvaluationTracker(output_path=str(specification.folder / "unused"))
    results = simple_evaluate(
        model=model,
        tasks=specification.tasks,
        limit=specification.limit,
        task_manager=task_manager,
        log_samples=True,
        evaluation_tracker=tracker,
        bootstrap_iters=0,
        batch_size=1,
    )
    if not results or not results.get("results"):
        raise UserError("lmms-eval returned no results")
    results["config"]["model"] = tracker.general_config_tracker.model_source = model.model_name
    samples = results.pop("samples")
    _write(specification, model, dtype, tracker, results, samples)


def _backend(specification: SideSpecification, events: EventWriter) -> ReferenceSide | CandidateSide:
    def progress(done: int, total: int) -> None:
        events.send(Answered(done=done, total=total))

    shared: dict[str, Any] = {
        "max_new_tokens": specification.max_new_tokens,
        "top_k": specification.top_k,
        "progress": progress,
        **specification.model_args,
    }
    if specification.side == "reference":
        from tliveomni_eval.model_adapters.parity.reference_side import ReferenceSide

        return ReferenceSide(**shared)
    _keep_a_small_model_to_one_core(specification)
    from tliveomni_eval.model_adapters.parity.candidate_side import CandidateSide

    assert specification.reference_records is not None
    reference = {record.key: record for record in read_records(specification.reference_records)}
    return CandidateSide(reference=reference, answers=specification.side == "candidate", **shared)


def _keep_a_small_model_to_one_core(specification: SideSpecification) -> None:
    """Threads that wait for each other at each of hundreds of small layers lose what they gain."""
    from tliveomni_eval.model_adapters.checkpoint import locate_checkpoint
    from tliveomni_eval.model_adapters.vllm_backend.installed_engine import installed_device

    asked = specification.model_args
    folder = locate_checkpoint(asked.get("model", ""), asked.get("variant", "")).folder
    weights = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    if installed_device() == "cpu" and weights < SMALL_WEIGHTS:
        import torch

        os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        torch.set_num_threads(1)


def _write(
    specification: SideSpecification,
    model: ReferenceSide | CandidateSide,
    dtype: str,
    tracker: Any,
    results: dict[str, Any],
    samples: dict[str, list[dict[str, Any]]],
) -> None:
    from tliveomni_eval.model_adapters.run.log_swap import write_logs

    if specification.side != "candidate scores":
        write_logs(specification.folder, tracker, results, samples)
    order = {task: position for position, task in enumerate(samples)}
    model.records.sort(key=lambda record: (order[record.task], record.document))
    backend = SideBackend(
        architecture=model.checkpoint.architecture,
        fingerprint=model.fingerprint.fingerprint,
        device=model.device_kind,
        dtype=dtype,
        kernels=model.kernels,
        tasks=tuple(samples),
        ids={task: {int(row["doc_id"]): _id_of(row) for row in rows} for task, rows in samples.items()},
    )
    (specification.folder / BACKEND_NAME).write_text(backend.model_dump_json(), encoding="utf-8")
    write_records(specification.folder / RECORDS_NAME, model.records)


def _dtype_of(model: ReferenceSide | CandidateSide) -> str:
    if (engine := getattr(model, "llm", None)) is not None:
        return str(engine.llm_engine.vllm_config.model_config.dtype).removeprefix("torch.")
    return str(model.settings.engine_args["dtype"])


def _id_of(row: dict[str, Any]) -> str:
    record = row.get("record")
    return str(record["id"]) if isinstance(record, dict) and "id" in record else str(row["doc_id"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
