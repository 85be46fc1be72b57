"""Canaries on vLLM in this process: the thin edge between `run_canaries` and the adapter that answered the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tliveomni_eval.model_adapters.canaries.canary_backend import CanaryAnswer
from tliveomni_eval.model_adapters.canaries.processor_tokens import count_tokens, media_token_ids, processor_tokens
from tliveomni_eval.model_adapters.vllm_backend.adapter import engine_prompt
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import Request, Response

if TYPE_CHECKING:
    from tliveomni_eval.model_adapters.vllm_backend.adapter import TLiveOmniVLLM


class _NotingEngine:
    """An engine that passes everything on, and notes the tokens of finished prompts."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.prompt_tokens: dict[str, list[int]] = {}

    def add_request(self, request_id: str, prompt: Any, params: Any) -> Any:
        return self._engine.add_request(request_id, prompt, params)

    def has_unfinished_requests(self) -> bool:
        return bool(self._engine.has_unfinished_requests())

    def step(self) -> list[Any]:
        outputs: list[Any] = self._engine.step()
        for output in outputs:
            if output.finished:
                self.prompt_tokens[output.request_id] = list(output.prompt_token_ids or ())
        return outputs


class VLLMCanaryBackend:
    """The adapter, as canaries see it.

    Args:
        model: What answered the run; its engine starts if it was not needed before.
    """

    def __init__(self, model: TLiveOmniVLLM) -> None:
        self._model = model
        self._asked = 0

    @property
    def media_kinds(self) -> frozenset[str]:
        """Kinds of media the checkpoint takes."""
        return self._model.checkpoint.media_kinds

    def prompt(self, messages: Sequence[Mapping[str, Any]]) -> ChatPrompt:
        """Build a prompt as the run does."""
        return self._model.prompt_of_messages(messages)

    def processor_tokens(self, prompt: ChatPrompt) -> Mapping[str, int] | None:
        """Tokens by kind that the checkpoint's own processor makes."""
        given = self._model.settings.engine_args.get("mm_processor_kwargs") or {}
        return processor_tokens(self._model.template, prompt, given)

    def fits(self, prompt: ChatPrompt) -> bool:
        """Whether the context has room for a prompt; one whose tokens cannot be counted is tried."""
        counts = self.processor_tokens(prompt)
        context = int(self._model.llm.llm_engine.vllm_config.model_config.max_model_len)
        return counts is None or counts["all"] < context

    def ask(self, prompts: Sequence[tuple[ChatPrompt, Mapping[str, Any]]], at_a_time: int | None) -> list[CanaryAnswer]:
        """Answer prompts; see `CanaryBackend`."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        names = [f"canary-{self._asked + place}" for place in range(len(prompts))]
        self._asked += len(prompts)
        requests = (
            Request(name, engine_prompt(prompt), SamplingParams(**sampling, output_kind=RequestOutputKind.FINAL_ONLY))
            for name, (prompt, sampling) in zip(names, prompts, strict=True)
        )
        responses: dict[str, Response] = {}
        engine = _NotingEngine(self._model.llm.llm_engine)
        self._model.run_requests(
            requests,
            responses.__setitem__,
            at_a_time or self._model.most_in_flight,
            engine,
        )
        ids = media_token_ids(self._model.template)
        return [
            CanaryAnswer(
                text=responses[name].text,
                prompt_tokens=count_tokens(engine.prompt_tokens[name], ids),
                was_cut=responses[name].finish_reason == "length",
            )
            for name in names
        ]

    def forget_prefixes(self) -> None:
        """Empty the prefix cache."""
        self._model.llm.llm_engine.reset_prefix_cache()

    def decoding_taken_over(self) -> Mapping[str, Any]:
        """Sampling defaults that the engine took from the checkpoint."""
        config = self._model.llm.llm_engine.vllm_config.model_config
        taken: dict[str, Any] = config.get_diff_sampling_param()
        return taken
