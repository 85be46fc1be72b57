"""Trains nano's stage two: `python -m tliveomni_eval.model_adapters.nano.train_omni --data FOLDER … --out FOLDER`.

The data are manifest folders that `tlive compose … --side train` wrote; a folder may hold several tasks. The run is
bounded by steps or minutes and always ends with an export, also on SIGTERM or Ctrl-C: `OUT/checkpoint` is a TLiveOmni
that both backends load. `--resume` goes on from the weights that an earlier run left.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.tliveomni.random_checkpoint import build_processor
from tliveomni_eval.model_adapters.vllm_backend.media_settings import resolve_media_settings
from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments
from tliveomni_eval.tasks.manifest import Fault, read_lines

from .architecture import MAX_PIXELS, MIN_PIXELS
from .build_tokenizer import TOKENIZER_FILE
from .curriculum import Schedule
from .embedded_checkpoints import checkpoint_path
from .omni_architecture import CONTEXT_TOKENS, AudioDimensions, grown_model
from .omni_batch import sounds, training_batch
from .taught_samples import TAUGHT_TASKS, TaughtSample, taught_sample
from .training_state import load_masters

ALL_KINDS = frozenset({"image", "video", "audio"})
_KEPT_FILES = (TOKENIZER_FILE, "tokenizer_config.json", "generation_config.json")
_REPORT_SECONDS = 10.0


def read_taught_samples(folders: Sequence[Path]) -> list[TaughtSample]:
    """All samples of manifest folders.

    Args:
        folders: Each with `manifest.jsonl`.

    Raises:
        UserError: A line is faulty, is of a task that is not taught, or there is no sample at all.
    """
    samples: list[TaughtSample] = []
    for folder in folders:
        for number, line in read_lines(folder):
            if isinstance(line, Fault):
                raise UserError(f"{folder / 'manifest.jsonl'}, line {number}: {line}")
            if line.task in TAUGHT_TASKS:
                samples.append(taught_sample(line, folder))
    if not samples:
        raise UserError(
            f"{', '.join(map(str, folders)) or 'no folder'}: no sample of a task that is taught "
            f"({', '.join(sorted(TAUGHT_TASKS))}); write some with `tlive compose`"
        )
    return samples


class OmniTraining:
    """One training process of stage two.

    Args:
        samples: What is learnt.
        stage_one: Checkpoint to grow from.
        audio: The audio tower.
        schedule: Learning rate over progress.
        seed: Of fresh weights and of the order of samples.
        resume: Folder of an earlier run's `masters-*.safetensors`, or None.
    """

    def __init__(
        self,
        samples: Sequence[TaughtSample],
        stage_one: Path,
        audio: AudioDimensions,
        schedule: Schedule,
        seed: int = 0,
        resume: Path | None = None,
    ) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.stage_one = stage_one
        self.processor = build_processor(stage_one, MIN_PIXELS, MAX_PIXELS)
        self.settings = resolve_media_settings(
            ModelArguments(), ALL_KINDS, "TLiveOmniForConditionalGeneration", self.processor, CONTEXT_TOKENS
        )
        model = grown_model(stage_one, audio, seed)
        if resume is not None:
            model.load_state_dict(load_masters(resume), strict=False)
        self.model = model.to(self.device).train()
        self.schedule = schedule
        self.random = random.Random(seed)
        self.groups = grouped(samples, self.settings)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.0, betas=(0.9, 0.98), weight_decay=0.05)
        self.steps = 0

    def step(self, progress: float, batch_size: int) -> tuple[str, float]:
        """One optimizer step on samples of one task.

        Args:
            progress: Share of the training that is done, 0 to 1.
            batch_size: Samples, at most.

        Returns:
            The task and its loss in nats a token.

        Raises:
            FloatingPointError: The loss is not finite.
        """
        names = sorted(self.groups)
        name = self.random.choices(names, weights=[len(self.groups[name]) for name in names])[0]
        group = self.groups[name]
        chosen = self.random.sample(group, min(batch_size, len(group)))
        batch = training_batch(chosen, self.processor, self.settings)
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda"):
            loss = self.model(**{key: value.to(self.device) for key, value in batch.items()}).loss
        if not torch.isfinite(loss):
            raise FloatingPointError(f"the loss of {name} is not finite at step {self.steps}")
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = self.schedule.learning_rate(progress, self.steps)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.steps += 1
        return name, float(loss.detach())

    def save(self, out: Path) -> Path:
        """Write float32 masters to go on from, and a bfloat16 checkpoint.

        Args:
            out: Folder of the run.

        Returns:
            The checkpoint's folder.
        """
        from safetensors.torch import save_file

        checkpoint = out / "checkpoint"
        checkpoint.mkdir(parents=True, exist_ok=True)
        masters = {name: value.detach().cpu().contiguous() for name, value in self.model.named_parameters()}
        save_file(masters, out / "masters-0.safetensors")
        self.model.config.save_pretrained(checkpoint)
        halves = {name: value.to(torch.bfloat16) for name, value in masters.items()}
        save_file(halves, checkpoint / "model.safetensors", metadata={"format": "pt"})
        for file in _KEPT_FILES:
            shutil.copyfile(self.stage_one / file, checkpoint / file)
        self.processor.save_pretrained(checkpoint)
        return checkpoint


def grouped(samples: Sequence[TaughtSample], settings: Any) -> Mapping[str, list[TaughtSample]]:
    """Samples that may stand in one batch: of one task, with the sound of videos or without.

    Args:
        samples: What is learnt.
        settings: How media become part of a prompt.
    """
    groups: dict[str, list[TaughtSample]] = {}
    for sample in samples:
        name = f"{sample.task} with sound" if sounds(sample, settings) else sample.task
        groups.setdefault(name, []).append(sample)
    return groups


def main(argv: list[str] | None = None) -> int:
    """Runs a training; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, action="append", required=True, help="manifest folder; may be repeated")
    parser.add_argument("--out", type=Path, required=True, help="folder for weights and checkpoint")
    parser.add_argument("--stage-one", type=Path, default=checkpoint_path("bf16"), help="checkpoint to grow from")
    parser.add_argument("--resume", type=Path, help="folder of an earlier run")
    parser.add_argument("--steps", type=int, default=1_000_000, help="end after so many optimizer steps")
    parser.add_argument("--minutes", type=float, default=9.0, help="or after so many minutes")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--rate", type=float, default=5e-4, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    handlers = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        samples = read_taught_samples(arguments.data)
        schedule = Schedule(arguments.rate)
        training = OmniTraining(
            samples, arguments.stage_one, AudioDimensions(), schedule, arguments.seed, arguments.resume
        )
        started = reported = time.monotonic()
        losses: dict[str, float] = {}
        while not stopping and training.steps < arguments.steps:
            minutes = (time.monotonic() - started) / 60
            progress = max(minutes / arguments.minutes, training.steps / arguments.steps)
            if progress >= 1:
                break
            task, loss = training.step(progress, arguments.batch_size)
            losses[task] = loss
            if time.monotonic() - reported > _REPORT_SECONDS:
                reported = time.monotonic()
                shown = ", ".join(f"{name} {value:.3f}" for name, value in sorted(losses.items()))
                eta = minutes / progress * (1 - progress) if progress else arguments.minutes
                print(f"step {training.steps}  {shown}  progress {progress:.3f}  ETA {eta:.1f} min", flush=True)
        print(f"{training.steps} steps; checkpoint in {training.save(arguments.out)}")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return 0


if __name__ == "__main__":
    sys.exit(main())
