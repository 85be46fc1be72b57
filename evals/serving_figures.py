"""`bench.json`: what a backend costs to serve, from `tlive bench` to the leaderboard and `tlive recommend`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator
from tliveomni_eval.evals.logs.json_model import read_json_model

SERVING_FIGURES_NAME = "bench.json"

Modality = Literal["text", "image", "video", "audio"]
Seconds = Field(default=None, ge=0, allow_inf_nan=False)


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Estimate(_Frozen):
    """A number with its 95 % interval.

    Attributes:
        value: The number.
        low: Lower end.
        high: Upper end, at least `low`.
    """

    value: float = Field(allow_inf_nan=False)
    low: float = Field(allow_inf_nan=False)
    high: float = Field(allow_inf_nan=False)


class Percentiles(_Frozen):
    """Percentiles of a time over the successful requests, in seconds.

    Attributes:
        samples: Requests that have the time.
        p50: Median.
        p95: 95th percentile.
        p99: 99th percentile.
    """

    samples: int = Field(ge=1)
    p50: Estimate
    p95: Estimate
    p99: Estimate


class TtftParts(_Frozen):
    """Where the time to the first token goes; medians in seconds, None where the backend does not tell.

    Attributes:
        loading_s: Reading and decoding the media files.
        preprocessing_s: Chat template, tokenizer and the checkpoint's processor.
        queue_s: From the engine's queue to its first step.
        encoder_prefill_s: From the first step to the first token: media encoders and prefill, one step in vLLM.
    """

    loading_s: float | None = Seconds
    preprocessing_s: float | None = Seconds
    queue_s: float | None = Seconds
    encoder_prefill_s: float | None = Seconds


class LoadStep(_Frozen):
    """One step of load.

    Attributes:
        arrival: `closed`: so many requests are kept running; `open`: requests arrive by a Poisson process.
        level: Concurrency (closed) or requests a second (open).
        requests: Requests sent.
        succeeded: Of them, answered to the end.
        failed: Of them, refused or broken off.
        timed_out: Of them, without an end in the time allowed.
        duration_s: From the first request to the last end.
        requests_per_s: Successful requests a second.
        output_tokens_per_s: Output tokens of successful requests a second.
        latency: From sending (open: from the planned arrival) to the last token.
        ttft: From the same start to the first token.
        tpot: Time per output token after the first.
        goodput_per_s: Requests a second that met every limit of the SLO; None without an SLO.
        errors: Different messages of failures, at most five.
    """

    arrival: Literal["closed", "open"]
    level: float = Field(gt=0)
    requests: int = Field(ge=1)
    succeeded: int = Field(ge=0)
    failed: int = Field(ge=0)
    timed_out: int = Field(ge=0)
    duration_s: float = Field(gt=0)
    requests_per_s: float = Field(ge=0)
    output_tokens_per_s: float = Field(ge=0)
    latency: Percentiles | None = None
    ttft: Percentiles | None = None
    tpot: Percentiles | None = None
    goodput_per_s: float | None = Field(default=None, ge=0)
    errors: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.succeeded + self.failed + self.timed_out != self.requests:
            raise ValueError("succeeded, failed and timed_out must add up to requests")
        return self


class CacheFigure(_Frozen):
    """The same requests before and after a cache holds them; medians of TTFT in seconds.

    Attributes:
        cache: `processor` (preprocessed media), `encoder` (their embeddings) or `prefix` (KV cache of the prompt).
        cold_s: The cache lacks the request.
        warm_s: The cache holds it.
    """

    cache: Literal["processor", "encoder", "prefix"]
    cold_s: float = Field(ge=0)
    warm_s: float = Field(ge=0)


class Memory(_Frozen):
    """Bytes by part, where known.

    Attributes:
        weights: Loaded weights.
        kv_cache: Reserved for keys and values.
        encoder_cache: Reserved for embeddings of media.
        activations: Peak of a step beside them.
        process_peak: Largest resident memory of the process over its life, everything included.
        accelerator_peak: Largest memory of the accelerator; None where there is none.
    """

    weights: int | None = Field(default=None, ge=0)
    kv_cache: int | None = Field(default=None, ge=0)
    encoder_cache: int | None = Field(default=None, ge=0)
    activations: int | None = Field(default=None, ge=0)
    process_peak: int | None = Field(default=None, ge=0)
    accelerator_peak: int | None = Field(default=None, ge=0)


class Workload(_Frozen):
    """Requests of one kind. The first five figures are at batch 1, medians over all requests of all repeats.

    Attributes:
        name: Name of the workload, e.g. `image` or `video_long`.
        modality: What the requests carry.
        seconds_per_sample: From sending to the last token.
        ttft_s: Time to the first token, loading and preprocessing included.
        tpot_s: Time per output token after the first.
        peak_memory_bytes: Accelerator memory where there is one, else memory of the process.
        seconds_per_sample_sd: Standard deviation over repeats of the repeat's median; None with one repeat.
        latency: Percentiles of `seconds_per_sample`.
        ttft: Percentiles of `ttft_s`.
        tpot: Percentiles of `tpot_s`.
        requests: Different requests of a repeat.
        repeats: How often they were sent, after one warm-up that is not counted.
        succeeded: Successful requests over all repeats.
        failed: Others.
        errors: Different messages of failures, at most five.
        prompt_tokens: Median tokens of a prompt, media included.
        output_tokens: Median tokens of an answer.
        ttft_parts: Where the time to the first token goes.
        steps: Load steps.
        caches: Cold against warm.
        memory: Memory by part.
        joules_per_sample: Energy of the accelerator, where NVML gives it.
    """

    name: str
    modality: Modality
    seconds_per_sample: float | None = Seconds
    ttft_s: float | None = Seconds
    tpot_s: float | None = Seconds
    peak_memory_bytes: int | None = Field(default=None, ge=0)
    seconds_per_sample_sd: float | None = Seconds
    latency: Percentiles | None = None
    ttft: Percentiles | None = None
    tpot: Percentiles | None = None
    requests: int = Field(default=0, ge=0)
    repeats: int = Field(default=0, ge=0)
    succeeded: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)
    errors: list[str] = Field(default_factory=list)
    prompt_tokens: float | None = Field(default=None, ge=0)
    output_tokens: float | None = Field(default=None, ge=0)
    ttft_parts: TtftParts = Field(default_factory=TtftParts)
    steps: list[LoadStep] = Field(default_factory=list)
    caches: list[CacheFigure] = Field(default_factory=list)
    memory: Memory = Field(default_factory=Memory)
    joules_per_sample: float | None = Field(default=None, ge=0)


class Slo(_Frozen):
    """Limits that a request must meet to count for goodput, in seconds; None limits nothing.

    Attributes:
        ttft_s: Time to the first token.
        tpot_s: Time per output token after the first.
        latency_s: Time to the last token.
    """

    ttft_s: float | None = Field(default=None, gt=0)
    tpot_s: float | None = Field(default=None, gt=0)
    latency_s: float | None = Field(default=None, gt=0)


class BenchReport(_Frozen):
    """Content of `bench.json`: the figures, and everything that was held fixed while they were taken.

    Attributes:
        schema_version: Version of this layout.
        name: Name of the measured backend, by default its variant.
        backend: `vllm` (in this process), `server` (OpenAI-compatible) or `transformers`.
        variant: Precision by name.
        model: Checkpoint folder, or the server's model name.
        checkpoint_fingerprint: As `run.json` has it; None for a server, whose files are not seen.
        engine_args: Arguments of the engine; of a server what it tells.
        kernels: Linear kernels that vLLM chose; empty for the other backends and for 16-bit weights.
        template_sha256: Of the chat template; None for a server.
        processor: Limits of pixels and frames that the processor was configured with.
        seed: Of generated workloads and arrivals.
        slo: Limits for goodput.
        timeout_s: Time allowed to a request.
        versions: Package name to version.
        hardware: As in `run.json`.
        engine_start_s: Loading the engine, cold; None for a server.
        start: When it began.
        end: When it ended.
        workloads: One a kind of request.
    """

    schema_version: Literal[1] = 1
    name: str
    backend: Literal["vllm", "server", "transformers"]
    variant: str | None = None
    model: str
    checkpoint_fingerprint: str | None = None
    engine_args: dict[str, Any] = Field(default_factory=dict)
    kernels: list[str] = Field(default_factory=list)
    template_sha256: str | None = None
    processor: dict[str, Any] = Field(default_factory=dict)
    seed: int = 0
    slo: Slo = Field(default_factory=Slo)
    timeout_s: float = Field(gt=0)
    versions: dict[str, str] = Field(default_factory=dict)
    hardware: dict[str, Any] = Field(default_factory=dict)
    engine_start_s: float | None = Seconds
    start: AwareDatetime
    end: AwareDatetime
    workloads: list[Workload]

    def of(self, name: str) -> Workload | None:
        """The workload of a name; None where it was not measured."""
        return next((workload for workload in self.workloads if workload.name == name), None)

    def write(self, path: Path) -> None:
        """Writes the report in one step.

        Raises:
            OSError: The folder cannot be written.
        """
        unfinished = path.with_name(f".{path.name}.unfinished")
        unfinished.write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")
        unfinished.replace(path)


def read_bench_report(path: Path) -> BenchReport:
    """Reads a `bench.json`.

    Args:
        path: The file, or the folder that holds it.

    Raises:
        LogError: It cannot be read or is not what `tlive bench` writes; the message names file and field.
    """
    return read_json_model(path / SERVING_FIGURES_NAME if path.is_dir() else path, BenchReport)
