"""Stands in for the evaluation process: does what the variant's name says."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from tliveomni_eval.model_adapters.run.run_events import Answered, EventWriter, Failed, Loaded, Scored
from tliveomni_eval.model_adapters.run.run_specification import RunSpecification
from tliveomni_eval.model_adapters.vllm_backend.engine_deaths import EngineDeaths
from tliveomni_eval.model_adapters.vllm_backend.engine_watchdog import EngineWatchdog


def at_work_with_a_faulty_engine(specification: RunSpecification, behaviour: str) -> None:
    """Dies or hangs with a request in its engine: always, or in its first process."""
    folder = specification.run_folder
    is_first = not (folder / "began").exists()
    (folder / "began").touch()
    (folder / "reason").write_text(specification.after_engine_death)
    if not is_first and behaviour.endswith("once"):
        return
    notes = EngineDeaths(folder, specification.after_engine_death)
    notes.entered("key", "t", 0)
    if "hangs" in behaviour:
        hang_in_the_engine(specification.hang_timeout_s)
    os.kill(os.getpid(), signal.SIGKILL if "killed" in behaviour else signal.SIGABRT)


def hang_in_the_engine(timeout_s: float) -> None:
    with EngineWatchdog(timeout_s):
        time.sleep(120)


def main() -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    specification = RunSpecification.model_validate_json(Path(sys.argv[1]).read_bytes())
    events = EventWriter(int(sys.argv[2]))
    behaviour = specification.variant
    if behaviour == "dies":
        print("about to die", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    events.send(Loaded(kernels=["SomeKernel"], seconds=1.0))
    if behaviour.startswith("engine"):
        at_work_with_a_faulty_engine(specification, behaviour)
    if behaviour == "fails":
        events.send(Failed(message="the image 'x.webp' is truncated"))
        return 1
    if behaviour == "interrupted":
        return 130
    if behaviour == "silent":
        return 0
    if behaviour == "hangs":
        (specification.run_folder / "ready").touch()
        try:
            time.sleep(120)
        except KeyboardInterrupt:
            (specification.run_folder / "interrupted").touch()
            return 130
    events.send(Answered(done=1, total=2))
    events.send(Answered(done=2, total=2))
    events.send(Scored(scores={"live_ocr": {"field_exact": 0.5}}, from_journal=0, answered=2, seconds=1.0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
