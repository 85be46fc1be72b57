"""Talks to an OpenAI-compatible server: retries what may pass, names what will not."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_random_exponential
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.server_backend.server_arguments import KEY_VARIABLE, ServerArguments, api_key

_MAY_PASS = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_LONGEST_WAIT_S = 30.0


class ServerFailure(Exception):
    """An attempt failed for a reason that may pass: no connection, no end in time, an overloaded server.

    Args:
        reason: In words.
        timed_out: Whether time ran out.
        retry_after_s: What the server asks to wait; None where it does not say.
    """

    def __init__(self, reason: str, timed_out: bool = False, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.timed_out = timed_out
        self.retry_after_s = retry_after_s


class ServerRefusal(Exception):
    """The server does not take the request, now or later: it is wrong, too long, or forbidden."""


@dataclass(slots=True)
class ServerAnswer:
    """One answer with the moments it came at.

    Attributes:
        text: The answer.
        prompt_tokens: As the server counts them.
        output_tokens: As the server counts them.
        finish_reason: `stop` or `length`.
        sent: When the request was sent, `time.perf_counter()`.
        first: When the first token came; the end where it was not streamed.
        last: When the answer was complete.
    """

    text: str = ""
    prompt_tokens: int = 0
    output_tokens: int = 0
    finish_reason: str = ""
    sent: float = 0.0
    first: float = 0.0
    last: float = 0.0


@dataclass
class ServerClient:
    """Connections to one server.

    Attributes:
        arguments: Which server, and limits of time and attempts.
        retried: Attempts that failed and were repeated, over the life of the client.
    """

    arguments: ServerArguments
    retried: int = 0
    _http: httpx.AsyncClient = field(init=False)

    def __post_init__(self) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=self.arguments.concurrency)
        timeout = httpx.Timeout(self.arguments.timeout_s, connect=self.arguments.connect_timeout_s, pool=None)
        headers = {"Authorization": f"Bearer {api_key()}"} if api_key() else {}
        # A proxy of the environment would be asked for loopback too.
        self._http = httpx.AsyncClient(limits=limits, timeout=timeout, headers=headers, trust_env=False)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def models(self) -> list[dict[str, Any]]:
        """What the server serves, as it says.

        Raises:
            UserError: It does not answer, or with something else.
        """
        address = self._address("models")
        try:
            response = await self._http.get(address)
            response.raise_for_status()
            listed: list[dict[str, Any]] = response.json()["data"]
            return listed
        except httpx.HTTPStatusError as error:
            hint = f"; put its key into {KEY_VARIABLE}" if error.response.status_code in (401, 403) else ""
            raise UserError(f"{address}: the server answers {error.response.status_code}{hint}") from None
        except httpx.HTTPError as error:
            raise UserError(
                f"{address}: no server answers ({_reason(error)}); start one (`vllm serve CHECKPOINT`), or name "
                "another with base_url="
            ) from None
        except (ValueError, KeyError, TypeError):
            raise UserError(f"{address}: what answers is no OpenAI-compatible server; check base_url=") from None

    async def served_model(self) -> dict[str, Any]:
        """The model that is asked: the one that was named, or the only one.

        Raises:
            UserError: There is no such model, or several and none was named.
        """
        listed = await self.models()
        names = [str(model.get("id")) for model in listed]
        wanted = self.arguments.model
        if not wanted and len(names) == 1:
            return listed[0]
        if wanted in names:
            return listed[names.index(wanted)]
        asked = f"does not serve {wanted!r}" if wanted else "serves several models"
        raise UserError(f"{self.arguments.base_url} {asked}; use model= with one of: {', '.join(names) or 'none'}")

    async def complete(self, body: Mapping[str, Any]) -> ServerAnswer:
        """Ask until there is an answer, waiting longer after each failure.

        Args:
            body: As `chat_request` makes it.

        Raises:
            ServerFailure: Every attempt failed.
            ServerRefusal: The server does not take the request.
        """
        attempts = AsyncRetrying(
            retry=retry_if_exception_type(ServerFailure),
            stop=stop_after_attempt(self.arguments.retries + 1),
            wait=_wait,
            before_sleep=self._count_retry,
            reraise=True,
        )
        answer: ServerAnswer = await attempts(self.complete_once, body)
        return answer

    async def complete_once(self, body: Mapping[str, Any]) -> ServerAnswer:
        """One attempt.

        Raises:
            ServerFailure: It failed for a reason that may pass.
            ServerRefusal: The server does not take the request.
        """
        sent = time.perf_counter()
        async with self._open("chat/completions", body) as response:
            content = await response.aread()
        last = time.perf_counter()
        try:
            result = json.loads(content)
            choice, usage = result["choices"][0], result.get("usage") or {}
            text = choice["message"].get("content") or ""
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            raise ServerFailure(f"an answer that is none: {content[:200]!r}") from None
        return ServerAnswer(
            text, int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0),
            str(choice.get("finish_reason") or "stop"), sent, last, last,
        )  # fmt: skip

    async def stream_once(self, body: Mapping[str, Any]) -> ServerAnswer:
        """One attempt whose tokens come one by one, with the moments of the first and the last.

        Raises:
            ServerFailure: It failed for a reason that may pass.
            ServerRefusal: The server does not take the request.
        """
        answer = ServerAnswer(sent=time.perf_counter())
        streamed = dict(body) | {"stream": True, "stream_options": {"include_usage": True}}
        async with self._open("chat/completions", streamed) as response:
            async for line in response.aiter_lines():
                if not line.startswith("data:") or line[5:].strip() == "[DONE]":
                    continue
                event = json.loads(line[5:])
                if "error" in event:
                    raise ServerFailure(str(event["error"])[:300])
                if usage := event.get("usage"):
                    answer.prompt_tokens = int(usage.get("prompt_tokens") or 0)
                    answer.output_tokens = int(usage.get("completion_tokens") or 0)
                for choice in event.get("choices", ()):
                    text = choice.get("delta", {}).get("content")
                    answer.finish_reason = choice.get("finish_reason") or answer.finish_reason
                    if text:
                        answer.text += text
                        answer.last = time.perf_counter()
                        answer.first = answer.first or answer.last
        if not answer.finish_reason:
            raise ServerFailure("the stream broke off before the answer ended")
        answer.last = answer.last or time.perf_counter()
        answer.first = answer.first or answer.last
        return answer

    async def metrics_text(self) -> str:
        """What the server publishes under `/metrics`; empty where it publishes nothing."""
        try:
            response = await self._http.get(self.arguments.base_url.rstrip("/").removesuffix("/v1") + "/metrics")
            return response.text if response.is_success else ""
        except httpx.HTTPError:
            return ""

    @asynccontextmanager
    async def _open(self, path: str, body: Mapping[str, Any]) -> AsyncIterator[httpx.Response]:
        try:
            async with self._http.stream("POST", self._address(path), json=body) as response:
                if response.status_code >= 400:
                    content = await response.aread()
                    _raise_for(response, content)
                yield response
        except httpx.TimeoutException as error:
            seconds = self.arguments.timeout_s
            raise ServerFailure(f"no answer within {seconds:g} s ({type(error).__name__})", timed_out=True) from None
        except httpx.HTTPError as error:
            raise ServerFailure(_reason(error)) from None

    def _address(self, path: str) -> str:
        return f"{self.arguments.base_url.rstrip('/')}/{path}"

    def _count_retry(self, _state: RetryCallState) -> None:
        self.retried += 1


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after_s if isinstance(error, ServerFailure) else None
    drawn: float = wait_random_exponential(multiplier=0.5, max=_LONGEST_WAIT_S)(state)
    return min(_LONGEST_WAIT_S, asked) if asked is not None else drawn


def _raise_for(response: httpx.Response, content: bytes) -> None:
    text = content.decode(errors="replace")
    try:
        parsed = json.loads(text)
        error = parsed.get("error", parsed)
        text = str(error.get("message", error)) if isinstance(error, dict) else str(error)
    except (ValueError, AttributeError):
        pass
    message = f"{response.status_code}: {text[:500]}"
    if response.status_code in _MAY_PASS:
        after = response.headers.get("retry-after", "")
        raise ServerFailure(message, retry_after_s=float(after) if after.isdigit() else None)
    hint = f"; put the server's key into {KEY_VARIABLE}" if response.status_code in (401, 403) else ""
    raise ServerRefusal(message + hint)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}{': ' + str(error) if str(error) else ''}"
