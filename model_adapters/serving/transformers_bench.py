"""Measuring transformers in this process: the baseline without an engine, one request at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.serving_figures import Memory
from tliveomni_eval.model_adapters.serving.bench_backend import BackendFacts, process_peak_bytes, template_digest
from tliveomni_eval.model_adapters.serving.outcomes import Outcome
from tliveomni_eval.model_adapters.serving.workloads import BenchRequest


class _FirstToken:
    """A streamer for transformers' `generate` that notes when the first token came."""

    def __init__(self) -> None:
        self.first = 0.0
        self._prompt = True

    def put(self, _value: Any) -> None:
        if self._prompt:
            self._prompt = False
        elif not self.first:
            self.first = time.perf_counter()

    def end(self) -> None:
        """Part of what `generate` asks of a streamer; the end is seen when `generate` returns."""


class TransformersBench:
    """Transformers in this process.

    Args:
        model_args: As for `lmms-eval --model tliveomni_hf --model_args`.

    Raises:
        UserError: As `tliveomni_hf`.
    """

    def __init__(self, model_args: dict[str, Any]) -> None:
        from tliveomni_eval.model_adapters.transformers_backend.adapter import TLiveOmniHF

        started = time.perf_counter()
        self._model = TLiveOmniHF(**model_args)
        self._reference = self._model.reference
        self._started_s = time.perf_counter() - started

    @property
    def media_kinds(self) -> frozenset[str]:
        """Kinds of media that the checkpoint takes."""
        return self._model.checkpoint.media_kinds

    @property
    def context(self) -> int | None:
        """Tokens that prompt and answer may take."""
        longest = self._model.settings.engine_args["max_model_len"]
        return None if longest is None else int(longest)

    def facts(self) -> BackendFacts:
        """What is measured."""
        model = self._model
        return BackendFacts(
            backend="transformers",
            variant=model.checkpoint.variant or None,
            model=model.checkpoint.name,
            checkpoint_fingerprint=model.fingerprint.fingerprint,
            engine_args={key: value for key, value in model.settings.engine_args.items() if key != "model"},
            template_sha256=template_digest(model.template),
            processor=model.media_settings.as_record(),
            engine_start_s=self._started_s,
        )

    def count_tokens(self, messages: Sequence[dict[str, Any]]) -> int:
        """Tokens of a prompt, as the processor counts them."""
        return int(self._reference.inputs(self._model.prompt_of_messages(messages))["input_ids"].shape[1])

    def run(
        self,
        requests: Sequence[BenchRequest],
        arrivals: Sequence[float] | None,
        concurrency: int | None,
        timeout_s: float,
    ) -> list[Outcome]:
        """Answer requests one after the other; a request cannot be broken off, so one above the time counts as late.

        Raises:
            UserError: More than one at a time is asked for.
        """
        if arrivals is not None or (concurrency or 1) != 1:
            raise UserError("transformers answers one request at a time: it has no load steps")
        return [self._one(request, timeout_s) for request in requests]

    def reset_caches(self, *, prefix: bool = True, processor: bool = True, encoder: bool = True) -> None:
        """Transformers keeps nothing between requests.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError

    def memory(self) -> Memory:
        """Memory by part."""
        import torch

        weights = sum(tensor.numel() * tensor.element_size() for tensor in self._reference.model.parameters())
        on_gpu = torch.cuda.is_available()
        return Memory(
            weights=weights,
            process_peak=process_peak_bytes(),
            accelerator_peak=torch.cuda.max_memory_allocated() if on_gpu else None,
        )

    def close(self) -> None:
        """Nothing to give back."""

    def _one(self, request: BenchRequest, timeout_s: float) -> Outcome:
        outcome = Outcome(time.perf_counter())
        watch = _FirstToken()
        try:
            prompt = self._model.prompt_of_messages(request.messages)
            loaded = time.perf_counter()
            inputs = self._reference.inputs(prompt)
            prepared = time.perf_counter()
            length = request.output_tokens
            generation = {"max_new_tokens": length, "min_new_tokens": length}
            tokens = _streamed(self._reference, inputs, watch, generation)
        except UserError as error:
            outcome.error, outcome.last = str(error), time.perf_counter()
            return outcome
        outcome.last = time.perf_counter()
        outcome.first = watch.first or outcome.last
        outcome.prompt_tokens, outcome.output_tokens = int(inputs["input_ids"].shape[1]), len(tokens)
        outcome.loading_s, outcome.preprocessing_s = loaded - outcome.start, prepared - loaded
        outcome.queue_s, outcome.encoder_prefill_s = 0.0, outcome.first - prepared
        outcome.text = self._reference.text(tokens)
        if outcome.latency > timeout_s:
            outcome.error, outcome.timed_out = f"no end within {timeout_s:g} s", True
        return outcome


def _streamed(reference: Any, inputs: dict[str, Any], watch: _FirstToken, settings: dict[str, Any]) -> list[int]:
    """As `ReferenceModel.generate`, with a streamer, which is no part of a generation configuration."""
    import torch
    from transformers import GenerationConfig

    inner = getattr(reference.model, "model", None)
    if getattr(inner, "rope_deltas", None) is not None:
        inner.rope_deltas = None  # type: ignore[union-attr]
    ends = {"eos_token_id": list(reference.end_ids), "pad_token_id": reference.end_ids[0], "do_sample": False}
    with torch.inference_mode():
        output = reference.model.generate(
            **inputs, generation_config=GenerationConfig(**ends, **settings), streamer=watch
        )
    tokens: list[int] = output[0, inputs["input_ids"].shape[1] :].tolist()
    return tokens
