"""Measuring vLLM in this process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tliveomni_eval.evals.serving_figures import Memory
from tliveomni_eval.model_adapters.serving.bench_backend import BackendFacts, process_peak_bytes, template_digest
from tliveomni_eval.model_adapters.serving.outcomes import Outcome
from tliveomni_eval.model_adapters.serving.workloads import BenchRequest

_IDLE_S = 0.0005


@dataclass(slots=True)
class _Open:
    outcome: Outcome
    index: int


class EngineBench:
    """vLLM in this process, with its processor cache on, so that it can be measured cold and warm.

    Args:
        model_args: As for `lmms-eval --model tliveomni_vllm --model_args`.

    Raises:
        UserError: As `tliveomni_vllm`.
    """

    def __init__(self, model_args: dict[str, Any]) -> None:
        from tliveomni_eval.model_adapters.vllm_backend.adapter import TLiveOmniVLLM
        from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments

        given = ModelArguments.from_mapping(model_args)
        engine_args = {"disable_log_stats": False, "mm_processor_cache_gb": 1} | dict(given.engine_args)
        started = time.perf_counter()
        self._model = TLiveOmniVLLM(**{**model_args, "engine_args": engine_args})
        self._engine: Any = self._model.llm.llm_engine
        self._started_s = time.perf_counter() - started
        self._number = 0

    @property
    def media_kinds(self) -> frozenset[str]:
        """Kinds of media that the checkpoint takes."""
        return self._model.checkpoint.media_kinds

    @property
    def context(self) -> int | None:
        """Tokens that prompt and answer may take."""
        return int(self._engine.vllm_config.model_config.max_model_len)

    def facts(self) -> BackendFacts:
        """What is measured."""
        model = self._model
        return BackendFacts(
            backend="vllm",
            variant=model.checkpoint.variant or None,
            model=model.checkpoint.name,
            checkpoint_fingerprint=model.fingerprint.fingerprint,
            engine_args={key: value for key, value in model.settings.engine_args.items() if key != "model"},
            kernels=model.kernels,
            template_sha256=template_digest(model.template),
            processor=model.media_settings.as_record(),
            engine_start_s=self._started_s,
        )

    def count_tokens(self, messages: Sequence[dict[str, Any]]) -> int:
        """Tokens of a prompt, as the checkpoint's processor counts them."""
        from tliveomni_eval.model_adapters.transformers_backend.reference_model import processor_media

        prompt = self._model.prompt_of_messages(messages)
        processor = self._model.template
        return int(processor(text=[prompt.text], return_tensors="pt", **processor_media(prompt))["input_ids"].shape[1])

    def run(
        self,
        requests: Sequence[BenchRequest],
        arrivals: Sequence[float] | None,
        concurrency: int | None,
        timeout_s: float,
    ) -> list[Outcome]:
        """Answer requests and note when what happened.

        Args:
            requests: In the order they are sent.
            arrivals: When each is due, in seconds from the start; None for a closed loop.
            concurrency: Requests kept open in a closed loop.
            timeout_s: After which a request is given up.
        """
        outcomes: list[Outcome | None] = [None] * len(requests)
        waiting = list(range(len(requests)))[::-1]
        open_requests: dict[str, _Open] = {}
        begin = time.perf_counter()
        while waiting or open_requests:
            now = time.perf_counter() - begin
            while waiting and self._is_due(waiting[-1], now, arrivals, concurrency, len(open_requests)):
                index = waiting.pop()
                start = begin + arrivals[index] if arrivals is not None else time.perf_counter()
                outcomes[index] = self._send(requests[index], index, start, open_requests)
                now = time.perf_counter() - begin
            if not open_requests:
                time.sleep(_IDLE_S)
                continue
            for output in self._engine.step():
                self._take(output, open_requests)
            self._give_up(open_requests, timeout_s)
        return [outcome for outcome in outcomes if outcome is not None]

    def reset_caches(self, *, prefix: bool = True, processor: bool = True, encoder: bool = True) -> None:
        """Empty caches."""
        if prefix:
            self._engine.reset_prefix_cache()
        if processor:
            self._engine.reset_mm_cache()
        if encoder:
            self._engine.reset_encoder_cache()

    def memory(self) -> Memory:
        """Memory by part, as far as the engine tells."""
        import torch

        config = self._engine.vllm_config
        hidden = config.model_config.get_hidden_size()
        width = torch.empty(0, dtype=config.model_config.dtype).element_size()
        on_gpu = torch.cuda.is_available()
        return Memory(
            weights=self._weight_bytes(),
            kv_cache=getattr(config.cache_config, "kv_cache_memory_bytes", None),
            encoder_cache=int(config.scheduler_config.encoder_cache_size) * hidden * width,
            activations=None,
            process_peak=process_peak_bytes(),
            accelerator_peak=torch.cuda.max_memory_allocated() if on_gpu else None,
        )

    def close(self) -> None:
        """Shut the engine down."""
        self._model.clean()

    @staticmethod
    def _is_due(
        index: int, now: float, arrivals: Sequence[float] | None, concurrency: int | None, in_flight: int
    ) -> bool:
        if arrivals is not None:
            return now >= arrivals[index]
        return in_flight < (concurrency or 1)

    def _send(self, request: BenchRequest, index: int, start: float, open_requests: dict[str, _Open]) -> Outcome:
        from tliveomni_eval.evals.errors import UserError
        from tliveomni_eval.model_adapters.vllm_backend.adapter import engine_prompt, refusal_errors
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        outcome = Outcome(start)
        begun = time.perf_counter()
        sampling = SamplingParams(
            temperature=0.0,
            max_tokens=request.output_tokens,
            min_tokens=request.output_tokens,
            ignore_eos=True,
            output_kind=RequestOutputKind.DELTA,
        )
        self._number += 1
        name = f"bench-{self._number}"
        refused: tuple[type[Exception], ...] = (UserError, *refusal_errors())
        try:
            prompt = self._model.prompt_of_messages(request.messages)
            loaded = time.perf_counter()
            self._engine.add_request(name, engine_prompt(prompt), sampling)
        except refused as error:
            outcome.error, outcome.last = str(error)[:300], time.perf_counter()
            return outcome
        outcome.loading_s = loaded - begun
        outcome.preprocessing_s = time.perf_counter() - loaded
        open_requests[name] = _Open(outcome, index)
        return outcome

    def _take(self, output: Any, open_requests: dict[str, _Open]) -> None:
        found = open_requests.get(output.request_id)
        if found is None:
            return
        now = time.perf_counter()
        outcome, completion = found.outcome, output.outputs[0]
        if completion.token_ids and not outcome.output_tokens:
            outcome.first = now
        outcome.output_tokens += len(completion.token_ids)
        outcome.text += completion.text
        outcome.last = now
        if output.finished:
            del open_requests[output.request_id]
            outcome.prompt_tokens = len(output.prompt_token_ids or ())
            stats = getattr(output, "metrics", None)
            if stats is not None and stats.scheduled_ts and stats.queued_ts:
                outcome.queue_s = max(0.0, stats.scheduled_ts - stats.queued_ts)
                outcome.encoder_prefill_s = max(0.0, stats.first_token_ts - stats.scheduled_ts)

    def _give_up(self, open_requests: dict[str, _Open], timeout_s: float) -> None:
        now = time.perf_counter()
        late = [name for name, item in open_requests.items() if now - item.outcome.start > timeout_s]
        for name in late:
            outcome = open_requests.pop(name).outcome
            outcome.error, outcome.timed_out, outcome.last = f"no end within {timeout_s:g} s", True, now
        if late:
            self._engine.abort_request(late)

    def _weight_bytes(self) -> int | None:
        folder = self._model.checkpoint.folder
        return sum(file.stat().st_size for file in folder.glob("*.safetensors")) or None
