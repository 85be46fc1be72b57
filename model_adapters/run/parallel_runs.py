"""Several runs side by side, each over processes of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tliveomni_eval.model_adapters.run.child_process import RunOutcome
from tliveomni_eval.model_adapters.run.run_events import Event
from tliveomni_eval.model_adapters.run.run_specification import RunSpecification
from tliveomni_eval.model_adapters.run.supervised_run import SupervisedRun
from tliveomni_eval.model_adapters.run.warm_start import WarmServer


def run_in_fresh_processes(
    specifications: Sequence[RunSpecification],
    on_event: Callable[[RunSpecification, Event], None],
    warm_server: WarmServer | None = None,
) -> list[RunOutcome]:
    """Run specifications side by side, each in a process of its own, and wait for all.

    Args:
        specifications: What to run; their folders exist.
        on_event: Called with each event as it arrives, from one thread a run.
        warm_server: Where to fork from; without it new interpreters start.

    Returns:
        How each ended, in their order.

    Raises:
        KeyboardInterrupt: The user interrupted; the processes have ended by then.
    """
    runs: list[SupervisedRun] = []
    with ThreadPoolExecutor(max(1, len(specifications)), thread_name_prefix="run") as threads:
        try:
            for specification in specifications:
                runs.append(SupervisedRun(specification, warm_server))
            followed = [
                threads.submit(run.follow, partial(on_event, specification))
                for run, specification in zip(runs, specifications, strict=True)
            ]
            return [future.result() for future in followed]
        except BaseException:
            for run in runs:
                run.interrupt()
            for run in runs:
                run.end()
            raise
