"""Continuous batching: requests enter the engine as soon as it has room, and leave it one by one as they finish."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Request:
    """One request for the engine.

    Attributes:
        id: Unique among the requests of one loop.
        prompt: vLLM prompt: `{"prompt", "multi_modal_data"}`.
        sampling: vLLM `SamplingParams`.
    """

    id: str
    prompt: Any
    sampling: Any


@dataclass(frozen=True, slots=True)
class Response:
    """One answer.

    Attributes:
        text: Decoded answer, without the stop text.
        input_tokens: Tokens of the prompt, media placeholders included.
        output_tokens: Tokens that were generated.
        finish_reason: `stop`, or `length` where the answer was cut at `max_new_tokens`.
    """

    text: str
    input_tokens: int
    output_tokens: int
    finish_reason: str


class RequestRefusedError(Exception):
    """The engine does not take a request, e.g. because its prompt is longer than the context.

    Args:
        request_id: Of the request.
        reason: What the engine says.
    """

    def __init__(self, request_id: str, reason: str) -> None:
        super().__init__(f"request {request_id}: {reason}")
        self.request_id = request_id
        self.reason = reason


class EngineDiedError(Exception):
    """The engine failed; no request in it can be completed by this process.

    Args:
        reason: What it says.
    """


class Engine(Protocol):
    """The part of vLLM's `LLMEngine` the loop uses."""

    def add_request(self, request_id: str, prompt: Any, params: Any) -> Any:
        """Queue a request."""
        ...

    def step(self) -> list[Any]:
        """Run one step and return the outputs it produced."""
        ...

    def has_unfinished_requests(self) -> bool:
        """Whether any request is not finished."""
        ...


def run_requests(
    engine: Engine,
    requests: Iterator[Request],
    on_response: Callable[[str, Response], None],
    max_in_flight: int,
    refusals: tuple[type[Exception], ...] = (ValueError,),
    on_step: Callable[[], object] = lambda: None,
    together: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    """Feed requests to the engine and report each answer the moment it is complete.

    Args:
        engine: Where requests run.
        requests: Source of requests; drawn from only when there is room.
        on_response: Called with a request's id and its answer.
        max_in_flight: Requests inside the engine at a time, waiting ones included: enough to keep every step full,
            few enough to bound the memory of their media.
        refusals: What the engine raises where it does not take a request.
        on_step: Called before each step of the engine: as long as it is, the engine lives.
        together: Around the reports of the answers that one step completed.

    Raises:
        RequestRefusedError: The engine does not take a request; it is never shortened until it fits.
        EngineDiedError: The engine failed in any other way.
    """
    in_flight = 0
    exhausted = False
    while True:
        while not exhausted and in_flight < max_in_flight:
            request = next(requests, None)
            if request is None:
                exhausted = True
                break
            try:
                engine.add_request(request.id, request.prompt, request.sampling)
            except refusals as error:
                raise RequestRefusedError(request.id, str(error)) from error
            except Exception as error:
                raise EngineDiedError(f"{type(error).__name__}: {error}") from error
            in_flight += 1
        if in_flight == 0:
            return
        on_step()
        try:
            outputs = engine.step()
        except Exception as error:
            raise EngineDiedError(f"{type(error).__name__}: {error}") from error
        finished = [output for output in outputs if output.finished]
        if not finished:
            continue
        in_flight -= len(finished)
        with together():
            for output in finished:
                on_response(output.request_id, _response(output))


def _response(output: Any) -> Response:
    completion = output.outputs[0]
    return Response(
        text=completion.text,
        input_tokens=len(output.prompt_token_ids or ()),
        output_tokens=len(completion.token_ids),
        finish_reason=completion.finish_reason or "stop",
    )
