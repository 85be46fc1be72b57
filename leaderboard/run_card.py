"""What the page says about a run as a whole: its name, and the environment it was made in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.gate.verdict import Outcome, Verdict
from tliveomni_eval.evals.logs.run_folder import Run
from tliveomni_eval.evals.logs.run_info import RunInfo
from tliveomni_eval.leaderboard.evidence import Evidence
from tliveomni_eval.leaderboard.page_data import EnvironmentEntry, RunCard
from tliveomni_eval.leaderboard.page_model import VerdictName

_LONGEST_VALUE = 400


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """A run of the report.

    Attributes:
        path: Its folder.
        run: What was read; None where the folder cannot be read.
        run_info: Its `run.json`, which may be readable where the logs are not.
        problem: Why there is no `run`; empty otherwise.
        evidence: What was measured of its checkpoint.
    """

    path: Path
    run: Run | None
    run_info: RunInfo | None
    problem: str = ""
    evidence: Evidence = field(default_factory=Evidence)

    @property
    def name(self) -> str:
        """Name of `run.json`, else of the folder."""
        return self.run_info.name if self.run_info else (self.path.name or self.path.resolve().name)

    @property
    def variant(self) -> str | None:
        """Precision of the backend, where known."""
        return self.run_info.variant if self.run_info else None


def short_names(runs: Sequence[ReportedRun]) -> list[str]:
    """A unique name for each run: its variant where that is enough, else its name, else with a number."""
    variants = [run.variant or run.name for run in runs]
    names = variants if len(set(variants)) == len(runs) else [run.name for run in runs]
    if len(set(names)) < len(runs):
        paths = [f"{run.path.parent.name}/{run.name}" for run in runs]
        names = paths if len(set(paths)) == len(runs) else names
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def run_card(run: ReportedRun, key: str, baseline: ReportedRun | None, verdict: Verdict | None) -> RunCard:
    """The card of a run.

    Args:
        run: The run.
        key: Its short name.
        baseline: The run it is compared with; None for the baseline itself.
        verdict: The gate's verdict; None for the baseline.
    """
    info = run.run_info
    reference = {(entry.group, entry.name): entry.value for entry in _environment(baseline)} if baseline else None
    entries = [
        entry.model_copy(
            update={"differs": reference is not None and reference.get((entry.group, entry.name)) != entry.value}
        )
        for entry in _environment(run)
    ]
    problems = [run.problem] if run.problem else []
    counts: dict[VerdictName, int] = {}
    if verdict is not None:
        said = [problem.message for problem in verdict.problems if not problem.allowed]
        problems = said or problems  # The gate's message on an unreadable run holds the reader's.
        outcomes: Counter[Outcome] = Counter(one.outcome for one in verdict.slices)
        counts = dict(outcomes)
    return RunCard(
        key=key,
        name=run.name,
        variant=run.variant,
        model=info.model if info else None,
        hardware=hardware_name(info.hardware) if info else "",
        started=info.start.isoformat() if info else None,
        duration_s=info.duration_s if info else None,
        complete=info is None or info.exit_status == 0,
        problem="; ".join(dict.fromkeys(problems)),
        verdict=verdict.outcome if verdict else None,
        counts=counts,
        environment=entries,
    )


def hardware_name(facts: Mapping[str, Any]) -> str:
    """What a run was made on, in words: its accelerators, else its processor; empty where neither is known.

    >>> hardware_name({"gpus": ["NVIDIA H200", "NVIDIA H200"], "processor": "x"})
    '2 × NVIDIA H200'
    >>> hardware_name({"processor": "AMD EPYC 9654", "cores": 2, "gpus": []})
    'AMD EPYC 9654, 2 cores'
    """
    gpus = facts.get("gpus")
    if isinstance(gpus, list) and gpus:
        counted = Counter(str(gpu) for gpu in gpus)
        return ", ".join(name if count == 1 else f"{count} × {name}" for name, count in counted.items())
    name = facts.get("processor") or facts.get("device")
    if not isinstance(name, str):
        return ""
    cores = facts.get("cores")
    return f"{name}, {cores} {'core' if cores == 1 else 'cores'}" if isinstance(cores, int) else name


def _environment(run: ReportedRun) -> list[EnvironmentEntry]:
    info = run.run_info
    if info is None:
        return []
    groups: dict[str, Mapping[str, Any]] = {
        "run": {"model": info.model, "variant": info.variant, "limit": info.limit, "command": " ".join(info.command)},
        "checkpoint": {"path": info.checkpoint.path, "fingerprint": info.checkpoint.fingerprint},
        "engine": info.engine_args,
        "decoding": info.decoding,
        "versions": info.versions,
        "hardware": info.hardware,
        "data": info.data,
        "prompts": info.prompts,
        "parsers": info.parsers,
        "normalisers": info.normalisers,
        "judge": info.judge,
        "input processing": info.input_processing,
        "canaries": _canaries(info),
    }
    return [
        EnvironmentEntry(group=group, name=name, value=value)
        for group, facts in groups.items()
        for name, value in _flat(facts)
    ]


def _canaries(info: RunInfo) -> dict[str, str]:
    if info.canaries_off:
        return {"all": "turned off"}
    return {result.name: f"{result.status.replace('_', ' ')}: {result.summary}" for result in info.canaries}


def _flat(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        elif value is not None and value != "":
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            yield f"{prefix}{name}", text[:_LONGEST_VALUE]
