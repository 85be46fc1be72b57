"""Trains TLiveOmni-nano: `python -m tliveomni_eval.model_adapters.nano.train --out FOLDER --minutes 9.5`.

A run is bounded by time and always ends with an export: at the limit, on SIGTERM or Ctrl-C. `--resume` continues from
the weights that an earlier run left; `--progress FROM TO` says which part of the whole training this run is.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch
import yaml

from . import ocr_source
from .architecture import NanoDimensions, parameter_counts
from .build_tokenizer import TOKENIZER_FILE, default_tokenizer, run_tokenizer
from .cuda_graphs import CapturedCall, capture
from .curriculum import Schedule, draw_shape_classes
from .export import untrained_model
from .glyph_task import GlyphTask
from .held_out import load_embedded_examples, read_examples, summary_lines
from .image_pool import ImagePools, PoolLayout, Sample, available_renderers
from .ocr_task import OcrTask
from .prompt_encoding import PromptEncoder
from .training_state import TrainingState, initial_weights, load_masters
from .training_task import ShapeClass, TrainingTask

DEFAULT_CONFIG = Path(__file__).with_name("run_config.yaml")
_STEPS_IN_FLIGHT = 4
_BENCHMARK_STEPS = 50


class Log:
    """Prints lines with the time since the start, and keeps them in a file."""

    def __init__(self, folder: Path, started: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file: TextIO = (folder / "training.log").open("w", encoding="utf-8")
        self._started = started

    def __call__(self, text: str) -> None:
        """Prints and keeps one line or several."""
        for line in text.splitlines():
            stamped = f"{time.monotonic() - self._started:7.1f} s  {line}"
            print(stamped, flush=True)
            print(stamped, file=self._file, flush=True)


@dataclass
class MixedSource:
    """Chooses the task of each seed by its share of rendering.

    Attributes:
        tasks: Task and share.
    """

    tasks: list[tuple[TrainingTask, float]]

    def __call__(self, seed: int, difficulty: float) -> tuple[str, Sample] | None:
        """The sample of a seed."""
        place = np.random.default_rng(seed).random() * sum(share for _, share in self.tasks)
        chosen = self.tasks[-1][0]
        for task, share in self.tasks:
            place -= share
            if place < 0:
                chosen = task
                break
        return chosen.sample(seed, difficulty)


@dataclass
class GraphedClass:
    """A shape class with its captured forward and backward pass.

    Attributes:
        shape_class: What it trains.
        call: Adds one batch's gradients.
        loss: Loss of the latest batch, a scalar on the device.
    """

    shape_class: ShapeClass
    call: CapturedCall
    loss: torch.Tensor


class Training:
    """One training process: tasks, pools, state, graphs, and the loop over them."""

    def __init__(self, settings: Mapping[str, Any], arguments: argparse.Namespace, log: Log, started: float) -> None:
        self.settings, self.arguments, self.log, self.started = settings, arguments, log, started
        self.schedule = Schedule.from_mapping(settings["schedule"])
        self.rng = np.random.default_rng(settings["seed"] + round(1000 * arguments.progress[0]))
        tokenizer = default_tokenizer() if arguments.resume is None else run_tokenizer(arguments.resume)
        tokenizer.save(str(arguments.out / TOKENIZER_FILE))
        self.encoder = PromptEncoder(tokenizer)
        self.model = untrained_model(NanoDimensions.from_mapping(settings["model"]), tokenizer, settings["seed"])
        self.config = self.model.config
        self.log(f"parameters: {parameter_counts(self.model)}, vocabulary {tokenizer.get_vocab_size()}")
        ocr = {key: value for key, value in settings["ocr"].items() if key != "classes_a_step"}
        self.tasks: list[tuple[TrainingTask, float]] = [(OcrTask(self.config, self.encoder, **ocr), 1.0)]
        glyphs = dict(settings["glyphs"])
        share = glyphs.pop("share_of_rendering")
        if glyphs.pop("enabled"):
            self.tasks = [(self.tasks[0][0], 1.0 - share), (GlyphTask(self.config, **glyphs), share)]
        layouts: dict[str, PoolLayout] = {}
        for task, _ in self.tasks:
            layouts |= task.layouts()
        # Renderers fork here: nothing before this line may touch the GPU.
        first_seed = round(arguments.progress[0] * 100_000_000)
        self.pools = ImagePools(layouts, MixedSource(self.tasks), arguments.renderers, first_seed)
        self.pools.start(self.schedule.difficulty(arguments.progress[0]))
        self.is_prepared = False
        self.stopping = False
        self.steps = 0
        self.samples = 0

    def prepare(self) -> None:
        """Makes the state on the device, captures every graph and renders the validation samples."""
        self.device = torch.device("cuda" if torch.cuda.is_available() and not self.arguments.cpu else "cpu")
        if self.device.type == "cuda":
            self.log(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {self.arguments.renderers} renderers")
        torch.manual_seed(self.settings["seed"])
        extra: dict[str, torch.Tensor] = {}
        for task, _ in self.tasks:
            extra |= task.extra_weights()
        initial = initial_weights(self.model, extra, self.settings["seed"])
        if self.arguments.resume is not None:
            initial |= load_masters(self.arguments.resume)
            self.log(f"resumed from {self.arguments.resume}")
        self.state = TrainingState(initial, self.device, **self.settings["optimizer"])
        self.pools.allocate(self.device, self.log)
        memory_pool = torch.cuda.graph_pool_handle() if self.device.type == "cuda" else None
        self.classes = [
            self._captured(shape_class, memory_pool)
            for task, _ in self.tasks
            for shape_class in task.shape_classes(self.device)
        ]
        self.state.restart()
        self.optimizer_step = capture("optimizer", self.state.step, self.device, memory_pool)
        self.state.restart()
        for call in [*(graphed.call for graphed in self.classes), self.optimizer_step]:
            if call.reason and self.device.type == "cuda":
                self.log(f"{call.name} runs eagerly: {call.reason}")
        self.log(f"{len(self.classes)} shape classes ready")
        self.validation = [
            ocr_source.validation_example(index) for index in range(self.settings["validation"]["samples"])
        ]
        self.log(f"{len(self.validation)} validation samples rendered")
        self.is_prepared = True
        if self.arguments.resume is not None and self.arguments.embedded is not None:
            self.validate("embedded set before", load_embedded_examples(self.arguments.embedded))

    def _captured(self, shape_class: ShapeClass, memory_pool: Any) -> GraphedClass:
        latest = torch.zeros((), device=self.device)
        pool = self.pools.pools[shape_class.pool]

        def add_gradients() -> None:
            loss = shape_class.loss(self.state.weights, pool.draw(shape_class.batch_size))
            self.state.add_gradients(loss)
            latest.copy_(loss.detach())

        call = capture(shape_class.pool, add_gradients, self.device, memory_pool)
        latest.zero_()  # the warm-up saw empty pools
        return GraphedClass(shape_class, call, latest)

    @property
    def minutes(self) -> float:
        """Minutes since the process started."""
        return (time.monotonic() - self.started) / 60

    def progress(self) -> float:
        """Share of the whole training that is done."""
        first, last = self.arguments.progress
        limit = self.arguments.minutes - self.arguments.reserve_minutes
        spent = (self.minutes - self.loop_started) / max(1e-6, limit - self.loop_started)
        if self.arguments.steps is not None:
            spent = self.steps / self.arguments.steps
        return float(first + (last - first) * min(1.0, spent))

    def _wait_for_samples(self) -> None:
        while True:
            self.pools.refresh()
            ready = sum(self._is_ready(graphed) for graphed in self.classes)
            if ready >= min(3, len(self.classes)) or self.stopping:
                self.log(f"first samples after {self.minutes:.2f} minutes, {ready} shape classes can start")
                return
            time.sleep(0.05)

    def _is_ready(self, graphed: GraphedClass) -> bool:
        return self.pools.pools[graphed.shape_class.pool].received >= graphed.shape_class.batch_size

    def train(self) -> None:
        """The loop: until time is up, the steps are done, or a signal came."""
        self.loop_started = self.minutes
        self._wait_for_samples()
        self.loop_started = self.minutes
        flights: deque[Any] = deque()
        next_report, next_validation = self.minutes + 0.1, self.minutes + self.settings["validation"]["every_minutes"]
        last = (self.minutes, 0, 0, 0)
        while not self.stopping:
            progress = self.progress()
            if progress >= self.arguments.progress[1]:
                break
            self.pools.set_difficulty(self.schedule.difficulty(progress))
            self.pools.refresh()
            self._step(progress)
            if self.device.type == "cuda":
                done = torch.cuda.Event()
                done.record()
                flights.append(done)
                if len(flights) > _STEPS_IN_FLIGHT:
                    flights.popleft().synchronize()
            if self.steps == _BENCHMARK_STEPS or self.minutes >= next_report:
                last = self._report(progress, last)
                next_report = self.minutes + 0.1
            if self.minutes >= next_validation:
                self.validate("validation", self.validation)
                next_validation = self.minutes + self.settings["validation"]["every_minutes"]
        if self.steps > last[1]:
            self._report(self.progress(), last)

    def _step(self, progress: float) -> None:
        reading = [graphed for graphed in self.classes if graphed.shape_class.task == "ocr"]
        chosen = [
            reading[index]
            for index in draw_shape_classes(
                self.rng,
                [self.pools.pools[graphed.shape_class.pool].received for graphed in reading],
                [graphed.shape_class.batch_size for graphed in reading],
                [self._is_ready(graphed) for graphed in reading],
                self.settings["ocr"]["classes_a_step"],
            )
        ]
        if self.schedule.trains_glyphs(progress, self.steps):
            chosen += [g for g in self.classes if g.shape_class.task == "glyphs" and self._is_ready(g)]
        for graphed in chosen:
            graphed.call()
            self.samples += graphed.shape_class.batch_size
        self.state.rate.fill_(self.schedule.learning_rate(progress, self.steps))
        self.optimizer_step()
        self.steps += 1

    def _report(self, progress: float, last: tuple[float, int, int, int]) -> tuple[float, int, int, int]:
        now = self.minutes
        received = sum(pool.received for pool in self.pools.pools.values())
        seconds = max(1e-6, 60 * (now - last[0]))
        losses: dict[str, list[float]] = {}
        for graphed in self.classes:
            kind = graphed.shape_class.pool.rpartition("-")[2]
            losses.setdefault(kind, []).append(float(graphed.loss))
        shown = ", ".join(f"{kind} {np.mean(values):.4f}" for kind, values in losses.items())
        self.log(
            f"step {self.steps}  loss {shown}  norm {float(self.state.gradient_norm):.2f}  "
            f"{(self.steps - last[1]) / seconds:.1f} steps/s  {(self.samples - last[2]) / seconds:.0f} samples/s  "
            f"{(received - last[3]) / seconds:.0f} rendered/s  difficulty {self.schedule.difficulty(progress):.2f}  "
            f"rate {float(self.state.rate):.2e}  progress {progress:.3f}  "
            f"ETA {max(0.0, self.arguments.minutes - now):.1f} min"
        )
        if not all(np.isfinite(value) for values in losses.values() for value in values):
            raise FloatingPointError(f"the loss is not finite at step {self.steps}: {shown}")
        return now, self.steps, self.samples, received

    def validate(self, name: str, examples: list[ocr_source.OcrExample]) -> None:
        """Reads examples with the averaged weights and logs the scores and a few misread ones."""
        begun = time.monotonic()
        readings = read_examples(self.state.averaged_weights(), self.config, self.encoder, examples, self.device)
        self.log(f"{name}, {len(readings)} samples in {time.monotonic() - begun:.1f} s")
        self.log("\n".join(f"  {line}" for line in summary_lines(readings)))
        for reading in [reading for reading in readings if not reading.is_exact][:4]:
            self.log(f"  read {reading.hypothesis[:80]!r} for {reading.example.reference[:80]!r}")

    def finish(self) -> None:
        """Saves the weights, then evaluates on validation and, if present, the embedded set."""
        self.state.save(self.arguments.out)
        self.log(f"weights saved after {self.steps} steps, {self.samples} samples")
        self.validate("final validation", self.validation)
        if self.arguments.embedded is not None:
            self.validate("embedded set", load_embedded_examples(self.arguments.embedded))


def parse_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--config", type=Path, default=DEFAULT_CONFIG, help="run configuration (YAML)")
    parser.add_argument("--out", type=Path, required=True, help="folder for weights and log")
    parser.add_argument("--minutes", type=float, default=9.5, help="of the whole process, export included")
    parser.add_argument("--reserve-minutes", type=float, default=0.7, help="kept for export and final evaluation")
    parser.add_argument("--steps", type=int, help="end after so many optimizer steps instead")
    parser.add_argument("--progress", type=float, nargs=2, default=(0.0, 1.0), metavar=("FROM", "TO"))
    parser.add_argument("--resume", type=Path, help="folder with the weights of an earlier run")
    parser.add_argument("--renderers", type=int, default=available_renderers(), help="renderer processes")
    parser.add_argument("--embedded", type=Path, help="evaluation set to read at the end")
    parser.add_argument("--cpu", action="store_true", help="stay on the CPU")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Runs a training; returns the exit status: 0, or 1 if a renderer failed or the loss was not finite."""
    started = time.monotonic()
    arguments = parse_arguments(argv)
    settings = yaml.safe_load(arguments.config.read_text(encoding="utf-8"))
    log = Log(arguments.out, started)
    log(f"configuration {arguments.config.name}: {settings}")
    training = Training(settings, arguments, log, started)

    def stop(*_: object) -> None:
        training.stopping = True

    handlers = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    status = 0
    try:
        training.prepare()
        training.train()
    except Exception:
        # Whatever ended it, the weights of the minutes before are worth keeping.
        log(f"ended early: {traceback.format_exc()}")
        status = 1
    finally:
        training.pools.stop()
    if training.is_prepared:
        training.finish()
    for number, handler in handlers.items():
        signal.signal(number, handler)
    return status


if __name__ == "__main__":
    sys.exit(main())
