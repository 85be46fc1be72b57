"""The vLLM side: its own greedy answers, and what it says of the tokens of the reference's answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_eval.api.instance import GenerationResult, Instance
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.parity.comparable_requests import (
    answer_comparable,
    greedy,
    prompt_modality,
    sample_key,
)
from tliveomni_eval.model_adapters.parity.token_scores import SideRecord, scores_of
from tliveomni_eval.model_adapters.transformers_backend.stop_texts import StopTexts
from tliveomni_eval.model_adapters.vllm_backend.adapter import TLiveOmniVLLM, engine_prompt, refusal_errors
from tliveomni_eval.model_adapters.vllm_backend.chat_model import OpenRequest, Progress
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import Response

_SAMPLES_AT_A_TIME = 8


@dataclass(slots=True)
class _Sample:
    """A sample inside the engine."""

    request: OpenRequest
    reference: SideRecord
    prompt_tokens: int
    answer: Any = None
    scored: Any = None


class CandidateSide(TLiveOmniVLLM):
    """`tliveomni_vllm` that also says how probable the reference's answers are.

    Args:
        reference: What transformers found, by task and document.
        answers: Whether it gives answers of its own, too.
        max_new_tokens: Most tokens of an answer.
        top_k: Most probable tokens to keep at each place.
        progress: Called as requests complete.
        arguments: `--model_args` of `tliveomni_vllm`.
    """

    def __init__(
        self,
        *,
        reference: Mapping[tuple[str, int], SideRecord],
        answers: bool,
        max_new_tokens: int,
        top_k: int,
        progress: Progress,
        **arguments: Any,
    ) -> None:
        super().__init__(progress=progress, **arguments)
        self._reference = reference
        self._answers = answers
        self._max_new_tokens = max_new_tokens
        self._top_k = top_k
        self.records: list[SideRecord] = []

    def generate_until(self, requests: list[Instance]) -> list[GenerationResult]:
        """Answer and score what the reference answered.

        Args:
            requests: Of a chat task.
        """
        found = {index: self._reference[sample_key(one)] for index, one in enumerate(requests)}
        skipped = {index: record for index, record in found.items() if record.scores is None}
        return answer_comparable(requests, skipped, super().generate_until)

    def _answer(
        self, requests: list[Instance], todo: Iterator[OpenRequest], answered: Callable[[int, Response], None]
    ) -> None:
        engine = self.llm.llm_engine
        inside: dict[int, _Sample] = {}
        exhausted = False
        while True:
            while not exhausted and len(inside) < _SAMPLES_AT_A_TIME:
                request = next(todo, None)
                if request is None:
                    exhausted = True
                    break
                key = sample_key(requests[request.index])
                try:
                    inside[request.index] = self._enter(request, self._reference[key])
                except refusal_errors() as error:
                    raise UserError(
                        f"task {key[0]}, document {key[1]}: vLLM does not take what transformers took: {error}"
                    ) from error
            if not inside:
                return
            for output in engine.step():
                if output.finished:
                    self._leave(output, inside, answered)

    def _enter(self, request: OpenRequest, reference: SideRecord) -> _Sample:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        assert reference.scores is not None
        engine = self.llm.llm_engine
        final = RequestOutputKind.FINAL_ONLY
        entered = rendered(engine, engine_prompt(request.prompt))
        sample = _Sample(request, reference, len(entered["prompt_token_ids"]))
        scored = {**entered, "prompt_token_ids": [*entered["prompt_token_ids"], *reference.scores.tokens]}
        scored.pop("prompt", None)
        scoring = SamplingParams(
            temperature=0, max_tokens=1, prompt_logprobs=self._top_k, detokenize=False, output_kind=final
        )
        engine.add_request(f"score {request.index}", scored, scoring)
        if self._answers:
            decoding = greedy(request.decoding, self._max_new_tokens).as_sampling_arguments()
            engine.add_request(f"answer {request.index}", entered, SamplingParams(**decoding, output_kind=final))
        return sample

    def _leave(self, output: Any, inside: dict[int, _Sample], answered: Callable[[int, Response], None]) -> None:
        kind, _, index = str(output.request_id).partition(" ")
        sample = inside[int(index)]
        if kind == "score":
            sample.scored = output
        else:
            sample.answer = output
        if sample.scored is None or (self._answers and sample.answer is None):
            return
        del inside[int(index)]
        assert sample.reference.scores is not None
        completion = sample.answer.outputs[0] if self._answers else None
        text = "" if completion is None else completion.text
        self.records.append(
            SideRecord(
                task=sample.reference.task,
                document=sample.reference.document,
                modality=prompt_modality(sample.request.prompt),
                prompt_tokens=sample.prompt_tokens,
                text="" if completion is None else self._text(completion, sample),
                cut=completion is not None and completion.finish_reason == "length",
                scores=scores_of(sample.scored.prompt_logprobs, sample.reference.scores.tokens, self._top_k),
                left_out=tuple(sorted(sample.request.prompt.ignored)),
            )
        )
        answered(int(index), Response(text, sample.prompt_tokens, 0, "stop"))

    def _text(self, completion: Any, sample: _Sample) -> str:
        """Decoded as the reference's answer is: vLLM holds back a character whose last bytes were cut off."""
        tokenizer = getattr(self._template, "tokenizer", self._template)

        def decode(tokens: Sequence[int]) -> str:
            return str(tokenizer.decode(list(tokens), skip_special_tokens=True))

        return StopTexts(decode, sample.request.decoding.stop, 0).cut(decode(completion.token_ids))[0]


def rendered(engine: Any, prompt: Mapping[str, Any]) -> dict[str, Any]:
    """A prompt after vLLM's processing of text and media, as its engine takes it: placeholders are expanded.

    Args:
        engine: vLLM's `LLMEngine`.
        prompt: Text and media.
    """
    from vllm.renderers.inputs.preprocess import parse_model_prompt

    (entered,) = engine.renderer.render_cmpl([parse_model_prompt(engine.vllm_config.model_config, prompt)])
    return dict(entered)
