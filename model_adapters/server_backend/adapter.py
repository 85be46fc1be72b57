"""The lmms-eval model `tliveomni_server`: chat tasks answered by a server that already runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from lmms_eval.api.instance import GenerationResult, Instance, TokenCounts
from lmms_eval.api.model import lmms
from loguru import logger
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.server_backend.chat_request import chat_request
from tliveomni_eval.model_adapters.server_backend.event_loop import run_to_end
from tliveomni_eval.model_adapters.server_backend.server_arguments import ServerArguments
from tliveomni_eval.model_adapters.server_backend.server_client import (
    ServerAnswer,
    ServerClient,
    ServerFailure,
    ServerRefusal,
)
from tliveomni_eval.model_adapters.vllm_backend.decoding import decoding_from_generation_kwargs
from tqdm import tqdm

FAILURES_IN_A_ROW = 8
"""Requests that fail one after the other, each after all its attempts, before the server is given up."""


class TLiveOmniServer(lmms):  # type: ignore[misc]
    """A chat model for lmms-eval that asks an OpenAI-compatible server.

    The server applies its own chat template, decodes media itself and samples frames as it was started to; images reach
    it without loss. A sample that fails after all attempts counts as an error, it is not left out.

    Args:
        arguments: `--model_args`; see `ServerArguments`.

    Raises:
        UserError: An argument is wrong, or no such server answers.
    """

    is_simple = False

    def __init__(self, **arguments: Any) -> None:
        super().__init__()
        self.arguments = ServerArguments.from_mapping(arguments)
        self.served = run_to_end(self._served_model())
        self.failed: dict[int, str] = {}
        logger.info(f"{self.arguments.base_url} serves {self.served['id']}, {self.arguments.concurrency} at a time")

    async def _served_model(self) -> dict[str, Any]:
        client = ServerClient(self.arguments)
        try:
            return await client.served_model()
        finally:
            await client.close()

    def generate_until(self, requests: list[Instance]) -> list[GenerationResult]:
        """Answer chat requests.

        Args:
            requests: lmms-eval instances of a chat task.

        Returns:
            One result a request, in their order, with the server's token counts; one without text where all attempts
            failed.

        Raises:
            UserError: A medium cannot be read, the server refuses a request, or it fails again and again.
        """
        self.failed = {}
        answers = run_to_end(self._answer_all(requests))
        if self.failed:
            first = next(iter(self.failed.values()))
            logger.error(f"{len(self.failed)} of {len(requests)} samples have no answer and count as errors: {first}")
        return [_result(answer) for answer in answers]

    async def _answer_all(self, requests: Sequence[Instance]) -> list[ServerAnswer | None]:
        client = ServerClient(self.arguments)
        answers: list[ServerAnswer | None] = [None] * len(requests)
        todo = iter(range(len(requests)))
        in_a_row = 0

        async def work(bar: Any) -> None:
            nonlocal in_a_row
            for index in todo:
                try:
                    body = await asyncio.to_thread(self._body, requests[index])
                    answers[index] = await client.complete(body)
                    in_a_row = 0
                except ServerFailure as error:
                    self.failed[index] = f"{_place(requests[index])}: {error}"
                    in_a_row += 1
                    if in_a_row >= FAILURES_IN_A_ROW:
                        raise UserError(
                            f"{self.arguments.base_url}: {in_a_row} requests in a row failed, each "
                            f"{self.arguments.retries + 1} times; the last: {error}"
                        ) from None
                except ServerRefusal as error:
                    raise UserError(
                        f"{_place(requests[index])}: the server does not take the request: {error} "
                        "No prompt is shortened to fit"
                    ) from None
                bar.update(1)

        try:
            with tqdm(total=len(requests), desc="Answering", unit="sample") as bar:
                workers = [
                    asyncio.create_task(work(bar)) for _ in range(min(self.arguments.concurrency, len(requests)))
                ]
                try:
                    await asyncio.gather(*workers)
                finally:
                    for worker in workers:
                        worker.cancel()
        finally:
            await client.close()
        if client.retried:
            logger.warning(f"{client.retried} attempts failed and were repeated")
        return answers

    def _body(self, request: Instance) -> dict[str, Any]:
        _, doc_to_messages, generation_kwargs, document, task, split = request.args
        messages = doc_to_messages(self.task_dict[task][split][document])
        return chat_request(str(self.served["id"]), messages, decoding_from_generation_kwargs(generation_kwargs))

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Refused: this backend generates.

        Raises:
            UserError: Always.
        """
        raise UserError("tliveomni_server answers by generating and computes no log-likelihood; leave such tasks out")

    def generate_until_multi_round(self, requests: list[Instance]) -> list[list[str]]:
        """Refused: no task of several rounds runs on this backend.

        Raises:
            UserError: Always.
        """
        raise UserError("tliveomni_server answers one round a sample; leave tasks of several rounds out")


def _place(request: Instance) -> str:
    _, _, _, document, task, _ = request.args
    return f"task {task}, document {document}"


def _result(answer: ServerAnswer | None) -> GenerationResult:
    if answer is None:
        return GenerationResult(text=None, token_counts=TokenCounts(input_tokens=0, output_tokens=0))
    counts = TokenCounts(input_tokens=answer.prompt_tokens, output_tokens=answer.output_tokens)
    return GenerationResult(text=answer.text, token_counts=counts)
