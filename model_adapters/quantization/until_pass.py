"""`tlive quantize --until-pass`: raise the precision of the most sensitive blocks until the gate passes, or cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.gate.verdict import Outcome, Verdict
from tliveomni_eval.model_adapters.quantization.recipe import Recipe

QUANTIZE_VARIABLE = "TLIVE_QUANTIZE"
DEFAULT_QUANTIZE = Path(".venv-quantize/bin/tlive")


class Attempt(BaseModel):
    """One quantized checkpoint and its verdict.

    Attributes:
        kept: Blocks left at 16 bit.
        outcome: The gate's.
        summary: What the gate says.
        hopeless: Slices that count and have too few clusters for any outcome at all to PASS.
        worst: The slice with the largest loss, and that loss.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kept: list[str]
    outcome: Outcome
    summary: str
    hopeless: list[str]
    worst: tuple[str, float] | None


class Search(BaseModel):
    """All attempts.

    Attributes:
        result: `passed`; `too_few_samples`: no precision could pass, because slices are too small to show it;
            `not_reached`: even with all blocks but one at 16 bit the gate does not pass.
        attempts: In the order made; with `passed`, the last one passed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    result: Literal["passed", "too_few_samples", "not_reached"]
    attempts: list[Attempt]


def search(order: Sequence[str], attempt: Callable[[Sequence[str]], Attempt]) -> Search:
    """Leave none, one, two, four, … of the most sensitive blocks at 16 bit, until one attempt passes.

    Args:
        order: Blocks, the most sensitive first.
        attempt: Makes a checkpoint with these blocks at 16 bit and judges it.
    """
    attempts: list[Attempt] = []
    for kept in kept_counts(len(order)):
        attempts.append(attempt(order[:kept]))
        if attempts[-1].outcome == "PASS":
            return Search(result="passed", attempts=attempts)
        if attempts[-1].hopeless or attempts[-1].outcome == "MISSING":
            result: Literal["too_few_samples", "not_reached"]
            result = "too_few_samples" if attempts[-1].hopeless else "not_reached"
            return Search(result=result, attempts=attempts)
    return Search(result="not_reached", attempts=attempts)


def kept_counts(blocks: int) -> list[int]:
    """How many blocks to leave at 16 bit, attempt by attempt; at least one stays quantized.

    >>> kept_counts(7), kept_counts(1)
    ([0, 1, 2, 4, 6], [0])
    """
    counts, count = [0], 1
    while count < blocks - 1:
        counts.append(count)
        count *= 2
    return counts + ([blocks - 1] if blocks > 1 else [])


def attempt_of(kept: Sequence[str], verdict: Verdict) -> Attempt:
    """What a verdict means for the search."""
    counted = [item for item in verdict.slices if item.counts]
    with_loss = [item for item in counted if item.loss is not None]
    worst = max(with_loss, key=lambda item: item.loss or 0.0, default=None)
    return Attempt(
        kept=list(kept),
        outcome=verdict.outcome,
        summary=verdict.summary,
        hopeless=[f"{item.task} {item.slice}" for item in counted if item.clusters and not item.certifiable],
        worst=None if worst is None else (f"{worst.task} {worst.slice}", float(worst.loss or 0.0)),
    )


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where and on what attempts are made.

    Attributes:
        model: The 16-bit checkpoint.
        recipe: What is raised.
        out: Folder that gets the checkpoint of the last attempt.
        policy: Policy file of the gate.
        tasks: Tasks that are run, comma-separated.
        limit: Samples of a task; None for all.
        calibration: Folder of `tlive calibrate`; None for the recipe's own samples.
        members: Linears of each block, to name a linear outside of blocks rightly.
    """

    model: Path
    recipe: Recipe
    out: Path
    policy: Path
    tasks: str
    limit: int | None
    calibration: Path | None
    members: dict[str, list[str]]

    def attempt(self, kept: Sequence[str]) -> Attempt:
        """Quantize, run and gate with these blocks at 16 bit.

        Raises:
            UserError: One of the three fails.
        """
        from tliveomni_eval.evals.gate.gate import gate

        runs = self.out.with_name(f"{self.out.name}-runs")
        runs.mkdir(parents=True, exist_ok=True)
        file = runs / f"recipe-{len(kept)}.yaml"
        file.write_text(yaml.safe_dump(self.raised(kept), sort_keys=False, allow_unicode=True), encoding="utf-8")
        words: list[str | Path] = [
            "quantize",
            "--model",
            self.model,
            "--recipe",
            file,
            "--out",
            self.out,
            "--probe-samples",
            "0",
        ]
        if self.calibration is not None:
            words += ["--calibration", self.calibration]
        _call(quantize_command(), *words)
        variant = self.recipe.name
        limit: list[str | Path] = ["--limit", str(self.limit)] if self.limit else []
        run: list[str | Path] = ["run", "--tasks", self.tasks, "--no-store", *limit]
        tlive = Path(sys.executable).parent / "tlive"
        base = runs / "baseline"
        _call(tlive, *run, "--variants", "bf16", "--checkpoint", f"bf16={self.model}", "--out", base)
        place = runs / f"kept-{len(kept)}"
        _call(tlive, *run, "--variants", variant, "--checkpoint", f"{variant}={self.out}", "--out", place)
        return attempt_of(kept, gate(base / "bf16", place / variant, self.policy))

    def raised(self, kept: Sequence[str]) -> dict[str, Any]:
        """The recipe with these blocks at 16 bit, as YAML content."""
        from tliveomni_eval.model_adapters.quantization.sensitivity_scan import kept_override

        content = self.recipe.model_dump(mode="json")
        override = [kept_override(kept, self.members)] if kept else []
        content["overrides"] = [*override, *content["overrides"]]
        return content


def quantize_command() -> Path:
    """The `tlive` of the environment that has llm-compressor.

    Raises:
        UserError: There is none.
    """
    path = Path(os.environ.get(QUANTIZE_VARIABLE, DEFAULT_QUANTIZE))
    if not path.is_file():
        raise UserError(
            f"--until-pass quantizes in an environment of its own, and {path} is not there: `make "
            f"quantize-environment` in the project's folder builds it; elsewhere name it in {QUANTIZE_VARIABLE}"
        )
    return path


def _call(*words: str | Path) -> None:
    command = [str(word) for word in words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        raise UserError(f"`{' '.join(command[:2])} …` ended with {done.returncode}:\n{last}")
