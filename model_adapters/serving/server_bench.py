"""Measuring an OpenAI-compatible server, from outside."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.serving_figures import Memory
from tliveomni_eval.model_adapters.server_backend.chat_request import chat_request
from tliveomni_eval.model_adapters.server_backend.event_loop import EventLoop
from tliveomni_eval.model_adapters.server_backend.server_arguments import ServerArguments
from tliveomni_eval.model_adapters.server_backend.server_client import ServerClient, ServerFailure, ServerRefusal
from tliveomni_eval.model_adapters.serving.bench_backend import BackendFacts
from tliveomni_eval.model_adapters.serving.outcomes import Outcome
from tliveomni_eval.model_adapters.serving.workloads import BenchRequest
from tliveomni_eval.model_adapters.vllm_backend.decoding import Decoding

_QUEUE = "vllm:request_queue_time_seconds"
_PREFILL = "vllm:request_prefill_time_seconds"


class ServerBench:
    """A server that already runs. A failed request is not repeated: it is one.

    Args:
        arguments: Which server.
        media_kinds: Kinds of media its model takes; a server does not say.

    Raises:
        UserError: No such server answers.
    """

    def __init__(self, arguments: ServerArguments, media_kinds: frozenset[str]) -> None:
        self._arguments = arguments
        self._kinds = media_kinds
        self._loop = EventLoop()
        self._client = ServerClient(arguments)
        self._served = self._loop.run(self._client.served_model())

    @property
    def media_kinds(self) -> frozenset[str]:
        """As given."""
        return self._kinds

    @property
    def context(self) -> int | None:
        """`max_model_len`, where the server tells it."""
        longest = self._served.get("max_model_len")
        return int(longest) if longest else None

    def facts(self) -> BackendFacts:
        """What the server tells of itself."""
        told = {key: value for key, value in self._served.items() if key in ("max_model_len", "root", "owned_by")}
        return BackendFacts(
            backend="server", model=str(self._served["id"]), engine_args=told | {"base_url": self._arguments.base_url}
        )

    def count_tokens(self, messages: Sequence[dict[str, Any]]) -> int:
        """Tokens of a prompt, as the server counts them."""
        (outcome,) = self.run([BenchRequest(tuple(messages), 1)], None, 1, self._arguments.timeout_s)
        if outcome.error:
            raise UserError(f"{self._arguments.base_url} does not take a prompt of the workload: {outcome.error}")
        return outcome.prompt_tokens

    def run(
        self,
        requests: Sequence[BenchRequest],
        arrivals: Sequence[float] | None,
        concurrency: int | None,
        timeout_s: float,
    ) -> list[Outcome]:
        """Answer requests: at given moments, or so many at a time.

        With one at a time, the server's own counters tell queue and prefill of each where it publishes them.
        """
        return self._loop.run(self._run(requests, arrivals, concurrency, timeout_s))

    def reset_caches(self, *, prefix: bool = True, processor: bool = True, encoder: bool = True) -> None:
        """A server offers no way to empty its caches.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError

    def memory(self) -> Memory:
        """Nothing: a server's memory is not seen from outside."""
        return Memory()

    def close(self) -> None:
        """Close the connections."""
        self._loop.run(self._client.close())
        self._loop.close()

    async def _run(
        self,
        requests: Sequence[BenchRequest],
        arrivals: Sequence[float] | None,
        concurrency: int | None,
        timeout_s: float,
    ) -> list[Outcome]:
        begin = time.perf_counter()
        seats = asyncio.Semaphore(len(requests) if arrivals is not None else concurrency or 1)
        alone = arrivals is None and (concurrency or 1) == 1

        async def one(index: int) -> Outcome:
            if arrivals is not None:
                await asyncio.sleep(max(0.0, begin + arrivals[index] - time.perf_counter()))
            async with seats:
                start = begin + arrivals[index] if arrivals is not None else time.perf_counter()
                before = await self._counters() if alone else None
                if alone:
                    start = time.perf_counter()
                outcome = await self._ask(requests[index], start, timeout_s)
                if before is not None and not outcome.error:
                    after = await self._counters()
                    outcome.queue_s = _difference(before, after, _QUEUE)
                    outcome.encoder_prefill_s = _difference(before, after, _PREFILL)
                return outcome

        return list(await asyncio.gather(*(one(index) for index in range(len(requests)))))

    async def _ask(self, request: BenchRequest, start: float, timeout_s: float) -> Outcome:
        outcome = Outcome(start)
        decoding = Decoding(request.output_tokens, 0.0, (), {})
        exact = {"min_tokens": request.output_tokens, "ignore_eos": True}
        try:
            body = await asyncio.to_thread(chat_request, str(self._served["id"]), request.messages, decoding)
            outcome.loading_s = time.perf_counter() - start
            answer = await asyncio.wait_for(self._client.stream_once(body | exact), timeout_s)
        except TimeoutError:
            outcome.error, outcome.timed_out = f"no end within {timeout_s:g} s", True
        except ServerFailure as error:
            outcome.error, outcome.timed_out = str(error), error.timed_out
        except (ServerRefusal, UserError) as error:
            outcome.error = str(error)
        else:
            outcome.first, outcome.last, outcome.text = answer.first, answer.last, answer.text
            outcome.prompt_tokens, outcome.output_tokens = answer.prompt_tokens, answer.output_tokens
            return outcome
        outcome.last = time.perf_counter()
        return outcome

    async def _counters(self) -> dict[str, float]:
        text = await self._client.metrics_text()
        found: dict[str, float] = {}
        for line in text.splitlines():
            name = line.partition("{")[0].partition(" ")[0]
            if name in (f"{_QUEUE}_sum", f"{_PREFILL}_sum"):
                found[name] = found.get(name, 0.0) + float(line.rsplit(" ", 1)[1])
        return found


def _difference(before: dict[str, float], after: dict[str, float], name: str) -> float | None:
    key = f"{name}_sum"
    return max(0.0, after[key] - before[key]) if key in before and key in after else None
