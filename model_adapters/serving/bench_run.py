"""One run of `tlive bench`: workloads at batch 1, under load, and with cold and warm caches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, stdev
from typing import Literal

from tliveomni_eval.evals.serving_figures import BenchReport, CacheFigure, LoadStep, Memory, Slo, Workload
from tliveomni_eval.model_adapters.run.machine_facts import hardware, package_versions
from tliveomni_eval.model_adapters.serving.accelerator_energy import energy_joules
from tliveomni_eval.model_adapters.serving.bench_backend import BenchBackend
from tliveomni_eval.model_adapters.serving.outcomes import (
    Outcome,
    errors_of,
    load_step,
    median_of,
    parts_of,
    percentiles,
    poisson_arrivals,
    times,
)
from tliveomni_eval.model_adapters.serving.workloads import BenchRequest, WorkloadSpec, generated, of_folder

Announce = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """How it is measured.

    Attributes:
        name: Name in the report.
        specs: Workloads to generate or to take from `data`.
        data: Data folder to take requests from; None to generate them.
        requests: Requests of a workload.
        repeats: How often they are sent at batch 1.
        concurrency: Closed-loop steps.
        rates: Open-loop steps in requests a second.
        slo: Limits for goodput.
        timeout_s: Time allowed to a request.
        seed: Of media, texts and arrivals.
    """

    name: str
    specs: tuple[WorkloadSpec, ...]
    data: Path | None
    requests: int
    repeats: int
    concurrency: tuple[int, ...]
    rates: tuple[float, ...]
    slo: Slo
    timeout_s: float
    seed: int


def run_bench(backend: BenchBackend, settings: BenchSettings, scratch: Path, announce: Announce) -> BenchReport:
    """Measure a backend.

    Args:
        backend: What answers.
        settings: How.
        scratch: Folder for generated media.
        announce: Told each step in a short sentence.

    Raises:
        UserError: A workload does not fit, or its data is faulty.
    """
    start = datetime.now(UTC)
    workloads = []
    for spec in settings.specs:
        if reason := does_not_fit(spec, backend):
            announce(f"{spec.name}: left out, {reason}")
            continue
        announce(f"{spec.name}: preparing {settings.requests} requests")
        workloads.append(_workload(backend, spec, settings, scratch, announce))
    facts = backend.facts()
    return BenchReport(
        name=settings.name,
        backend=facts.backend,
        variant=facts.variant,
        model=facts.model,
        checkpoint_fingerprint=facts.checkpoint_fingerprint,
        engine_args=facts.engine_args,
        kernels=list(facts.kernels),
        template_sha256=facts.template_sha256,
        processor=facts.processor,
        seed=settings.seed,
        slo=settings.slo,
        timeout_s=settings.timeout_s,
        versions=package_versions(),
        hardware=hardware(),
        engine_start_s=facts.engine_start_s,
        start=start,
        end=datetime.now(UTC),
        workloads=workloads,
    )


def does_not_fit(spec: WorkloadSpec, backend: BenchBackend) -> str:
    """Why a backend cannot answer a workload; empty where it can."""
    if spec.modality != "text" and spec.modality not in backend.media_kinds:
        return f"the checkpoint takes no {spec.modality}"
    needed = spec.prompt_tokens + spec.output_tokens
    if backend.context is not None and needed > backend.context:
        return f"it needs {needed:,} tokens of context and the backend has {backend.context:,}"
    return ""


def _workload(
    backend: BenchBackend, spec: WorkloadSpec, settings: BenchSettings, scratch: Path, announce: Announce
) -> Workload:
    # Under load no request comes twice, or a cache would answer for the second.
    most = max(settings.requests, 2 * max(settings.concurrency, default=0))
    pool = _requests(backend, spec, settings, scratch, most, settings.seed)
    requests = pool[: settings.requests]
    warm_up = _requests(backend, spec, settings, scratch, 1, settings.seed + 1)
    backend.run(warm_up, None, 1, settings.timeout_s)
    repeats: list[list[Outcome]] = []
    energy = energy_joules()
    for number in range(settings.repeats):
        announce(f"{spec.name}: batch 1, repeat {number + 1} of {settings.repeats}")
        _reset(backend)
        repeats.append(backend.run(requests, None, 1, settings.timeout_s))
    outcomes = [outcome for repeat in repeats for outcome in repeat]
    used = _joules_per_sample(energy, len(outcomes))
    steps = _steps(backend, spec, pool, settings, announce)
    caches = _caches(backend, spec, requests, settings.timeout_s)
    return _figures(spec, repeats, settings, steps, caches, backend.memory(), used)


def _figures(
    spec: WorkloadSpec,
    repeats: Sequence[Sequence[Outcome]],
    settings: BenchSettings,
    steps: list[LoadStep],
    caches: list[CacheFigure],
    memory: Memory,
    joules: float | None,
) -> Workload:
    outcomes = [outcome for repeat in repeats for outcome in repeat]
    medians = [value for repeat in repeats if (value := median_of(repeat, lambda outcome: outcome.latency)) is not None]
    good = [outcome for outcome in outcomes if not outcome.error]
    return Workload(
        name=spec.name,
        modality=spec.modality,
        seconds_per_sample=median_of(outcomes, lambda outcome: outcome.latency),
        ttft_s=median_of(outcomes, lambda outcome: outcome.ttft),
        tpot_s=median_of(outcomes, lambda outcome: outcome.tpot),
        peak_memory_bytes=memory.process_peak if memory.accelerator_peak is None else memory.accelerator_peak,
        seconds_per_sample_sd=stdev(medians) if len(medians) > 1 else None,
        latency=percentiles(times(outcomes, lambda outcome: outcome.latency)),
        ttft=percentiles(times(outcomes, lambda outcome: outcome.ttft)),
        tpot=percentiles(times(outcomes, lambda outcome: outcome.tpot)),
        requests=len(repeats[0]),
        repeats=settings.repeats,
        succeeded=len(good),
        failed=len(outcomes) - len(good),
        errors=errors_of(outcomes),
        prompt_tokens=median_of(outcomes, lambda outcome: outcome.prompt_tokens),
        output_tokens=median_of(outcomes, lambda outcome: outcome.output_tokens),
        ttft_parts=parts_of(outcomes),
        steps=steps,
        caches=caches,
        memory=memory,
        joules_per_sample=joules,
    )


def _requests(
    backend: BenchBackend, spec: WorkloadSpec, settings: BenchSettings, scratch: Path, count: int, seed: int
) -> list[BenchRequest]:
    if settings.data is not None:
        return of_folder(settings.data, spec.modality, count, spec.output_tokens)
    return generated(spec, count, seed, scratch, backend.count_tokens)


def _steps(
    backend: BenchBackend,
    spec: WorkloadSpec,
    requests: Sequence[BenchRequest],
    settings: BenchSettings,
    announce: Announce,
) -> list[LoadStep]:
    steps = []
    if backend.facts().backend == "transformers":
        return []
    for concurrency in settings.concurrency:
        announce(f"{spec.name}: {concurrency} at a time")
        _reset(backend)
        outcomes = backend.run(
            requests[: max(settings.requests, 2 * concurrency)], None, concurrency, settings.timeout_s
        )
        steps.append(load_step("closed", concurrency, outcomes, settings.slo))
    for rate in settings.rates:
        announce(f"{spec.name}: {rate:g} a second")
        _reset(backend)
        arrivals = poisson_arrivals(rate, settings.requests, settings.seed)
        outcomes = backend.run(requests[: len(arrivals)], arrivals, None, settings.timeout_s)
        steps.append(load_step("open", rate, outcomes, settings.slo))
    return steps


def _reset(backend: BenchBackend) -> None:
    try:
        backend.reset_caches()
    except NotImplementedError:
        return


def _caches(
    backend: BenchBackend, spec: WorkloadSpec, requests: Sequence[BenchRequest], timeout_s: float
) -> list[CacheFigure]:
    """Each cache alone: what it holds is emptied or kept, those after it are emptied."""

    def ttft(*, prefix: bool, processor: bool, encoder: bool) -> float | None:
        found = []
        for request in requests[:4]:
            backend.reset_caches()
            backend.run([request], None, 1, timeout_s)
            backend.reset_caches(prefix=prefix, processor=processor, encoder=encoder)
            found += backend.run([request], None, 1, timeout_s)
        good = [outcome.ttft for outcome in found if not outcome.error]
        return median(good) if good else None

    try:
        cold = ttft(prefix=True, processor=True, encoder=True)
    except NotImplementedError:
        return []
    measured: list[tuple[Literal["processor", "encoder", "prefix"], float | None, float | None]] = []
    before = cold
    if spec.modality != "text":
        processed = ttft(prefix=True, processor=False, encoder=True)
        encoded = ttft(prefix=True, processor=False, encoder=False)
        measured += [("processor", cold, processed), ("encoder", processed, encoded)]
        before = encoded
    measured.append(("prefix", before, ttft(prefix=False, processor=False, encoder=False)))
    return [
        CacheFigure(cache=name, cold_s=first, warm_s=second)
        for name, first, second in measured
        if first is not None and second is not None
    ]


def _joules_per_sample(before: float | None, samples: int) -> float | None:
    after = energy_joules()
    return None if before is None or after is None or not samples else (after - before) / samples
