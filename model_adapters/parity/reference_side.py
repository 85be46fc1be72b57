"""The transformers side: greedy answers, and what the model says of their tokens under teacher forcing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lmms_eval.api.instance import GenerationResult, Instance
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.parity.comparable_requests import (
    answer_comparable,
    greedy,
    not_taken,
    prompt_modality,
    sample_key,
)
from tliveomni_eval.model_adapters.parity.token_scores import SideRecord, TokenScores
from tliveomni_eval.model_adapters.transformers_backend.adapter import TLiveOmniHF
from tliveomni_eval.model_adapters.vllm_backend.chat_model import OpenRequest, Progress
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import Response


class ReferenceSide(TLiveOmniHF):
    """`tliveomni_hf` that also keeps what it says of its answers' tokens.

    Args:
        max_new_tokens: Most tokens of an answer.
        top_k: Most probable tokens to keep at each place.
        progress: Called as requests complete.
        arguments: `--model_args` of `tliveomni_hf`.
    """

    def __init__(self, *, max_new_tokens: int, top_k: int, progress: Progress, **arguments: Any) -> None:
        super().__init__(progress=progress, **arguments)
        self._max_new_tokens = max_new_tokens
        self._top_k = top_k
        self.records: list[SideRecord] = []

    def generate_until(self, requests: list[Instance]) -> list[GenerationResult]:
        """Answer what the checkpoint can take.

        Args:
            requests: Of a chat task.
        """
        taken = self.checkpoint.media_kinds
        found = {index: not_taken(one, self.messages(one), taken) for index, one in enumerate(requests)}
        skipped = {index: record for index, record in found.items() if record is not None}
        self.records.extend(skipped.values())
        return answer_comparable(requests, skipped, super().generate_until)

    def _answer(
        self, requests: list[Instance], todo: Iterator[OpenRequest], answered: Callable[[int, Response], None]
    ) -> None:
        for request in todo:
            record, response = self._record(*sample_key(requests[request.index]), request)
            self.records.append(record)
            answered(request.index, response)

    def _record(self, task: str, document: int, request: OpenRequest) -> tuple[SideRecord, Response]:
        prompt, modality = request.prompt, prompt_modality(request.prompt)
        try:
            answer = self.generate(prompt, greedy(request.decoding, self._max_new_tokens))
        except UserError as error:
            skipped = SideRecord(task=task, document=document, modality=modality, reason=str(error))
            return skipped, Response("", 0, 0, "length")
        tokens, longest = answer.tokens, self.settings.engine_args["max_model_len"]
        if longest is not None:
            # vLLM scores prompt and answer as a prompt, and wants room for one token more.
            tokens = tokens[: max(0, longest - answer.prompt_tokens - 1)]
        record = SideRecord(
            task=task,
            document=document,
            modality=modality,
            prompt_tokens=answer.prompt_tokens,
            text=answer.text,
            cut=answer.finish_reason == "length",
            scores=self._scores(answer.inputs, tokens) if tokens else None,
            reason="" if tokens else f"the prompt fills the context of {longest:,} tokens",
            left_out=tuple(sorted(prompt.ignored)),
        )
        return record, Response(answer.text, answer.prompt_tokens, len(answer.tokens), answer.finish_reason)

    def _scores(self, inputs: Any, tokens: tuple[int, ...]) -> TokenScores:
        rows = self.reference.log_probabilities(inputs, tokens)
        values, ids = rows.topk(min(self._top_k, rows.shape[-1]))
        return TokenScores(
            tokens=tokens,
            logprobs=tuple(float(row[token]) for row, token in zip(rows, tokens, strict=True)),
            top=tuple(
                tuple(zip(map(int, row_ids), map(float, row_values), strict=True))
                for row_ids, row_values in zip(ids.tolist(), values.tolist(), strict=True)
            ),
        )
