"""Stands in for the evaluation process: does what the variant's name says."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from tliveomni_eval.model_adapters.run.run_events import Answered, EventWriter, Failed, Loaded, Scored
from tliveomni_eval.model_adapters.run.run_specification import RunSpecification


def main() -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    specification = RunSpecification.model_validate_json(Path(sys.argv[1]).read_bytes())
    events = EventWriter(int(sys.argv[2]))
    behaviour = specification.variant
    if behaviour == "dies":
        print("about to die", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    events.send(Loaded(kernels=["SomeKernel"], seconds=1.0))
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
