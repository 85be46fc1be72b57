"""The lmms-eval model `tliveomni_vllm`: chat tasks answered by vLLM in this process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from lmms_eval.api.instance import Instance
from loguru import logger
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.checkpoint_trust import remote_code_digest
from tliveomni_eval.model_adapters.vllm_backend.chat_model import ChatModel, OpenRequest, Progress
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt
from tliveomni_eval.model_adapters.vllm_backend.engine_log import KernelLog, say_repeated_warnings_once
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import (
    Engine,
    Request,
    RequestRefusedError,
    Response,
    run_requests,
)
from tliveomni_eval.model_adapters.vllm_backend.engine_settings import (
    prepare_environment,
    resolve_engine_settings,
)
from tliveomni_eval.model_adapters.vllm_backend.engine_watchdog import EngineWatchdog
from tliveomni_eval.model_adapters.vllm_backend.installed_engine import installed_device, installed_version
from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments
from tliveomni_eval.model_adapters.vllm_backend.parity_arguments import with_parity
from tliveomni_eval.model_adapters.vllm_backend.response_journal import ResponseJournal

if TYPE_CHECKING:
    from vllm import LLM

_NO_PART_OF_THE_ANSWER = ("model", "trust_remote_code")
IN_FLIGHT_PER_SEAT = 2
"""Requests inside the engine for each one it can run at a time: the next ones are preprocessed when a seat frees."""


class TLiveOmniVLLM(ChatModel):
    """A chat model for lmms-eval that runs a checkpoint on vLLM with continuous batching.

    Args:
        journal: Where completed responses are kept and found again; none by default.
        progress: Called as requests complete, in place of the progress bar.
        arguments: `--model_args`; see `ModelArguments`.

    Raises:
        UserError: An argument is wrong, the checkpoint is not there, or vLLM is not installed or does not start.
    """

    model_name = "tliveomni_vllm"

    def __init__(
        self, *, journal: ResponseJournal | None = None, progress: Progress | None = None, **arguments: Any
    ) -> None:
        given = ModelArguments.from_mapping(arguments)
        self.device_kind = installed_device()
        super().__init__(given, journal, progress)
        environment = prepare_environment(self.device_kind)
        from vllm.engine.arg_utils import EngineArgs

        settings = resolve_engine_settings(
            self.arguments,
            str(self.checkpoint.folder),
            self.device_kind,
            self.checkpoint.max_model_len,
            self.checkpoint.media_kinds,
            frozenset(EngineArgs.__dataclass_fields__),
            environment,
        )
        self.settings = with_parity(settings, self.arguments.parity, self.checkpoint.architecture)
        logger.info(
            f"checkpoint {self.checkpoint.name} {self.checkpoint.variant} ({self.checkpoint.architecture}) on "
            f"{self.device_kind}; chosen for this machine: {self.settings.summary()}"
        )
        self._prepare_prompts(self.settings.engine_args.get("max_model_len") or self.checkpoint.max_model_len)
        self._identity = {
            **{key: value for key, value in self.settings.engine_args.items() if key not in _NO_PART_OF_THE_ANSWER},
            "device": self.device_kind,
            "vllm": installed_version(),
        }
        if self.settings.engine_args["trust_remote_code"]:
            self._identity |= {"remote_code": remote_code_digest(self.checkpoint.folder)}
        self.hang_timeout_s: float | None = None
        """Seconds without a step of the engine after which this process ends itself; None for never."""
        self.before_end: Callable[[], None] | None = None
        """Called once, after the last answer and before the engine is shut down."""
        self._started: LLM | None = None
        if journal is None or len(journal) == 0:
            self._started = self._start_engine()

    @property
    def llm(self) -> LLM:
        """The engine; where a journal may hold every answer already, it starts with the first one that is missing."""
        if self._started is None:
            self._started = self._start_engine()
        return self._started

    @property
    def engine_started(self) -> bool:
        """Whether any request needed the engine."""
        return self._started is not None

    def _start_engine(self) -> LLM:
        say_repeated_warnings_once()
        try:
            from vllm import LLM

            with KernelLog() as kernel_log:
                llm = LLM(**self.settings.engine_args)
        except (UserError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise UserError(f"vLLM did not start {self.checkpoint.folder}: {type(error).__name__}: {error}") from error
        self.kernels = tuple(kernel_log.kernels)
        logger.info(f"linear kernels: {', '.join(self.kernels) or 'unquantized'}")
        return llm

    def _answer(
        self, requests: list[Instance], todo: Iterator[OpenRequest], answered: Callable[[int, Response], None]
    ) -> None:
        first = next(todo, None)
        if first is None:
            return
        try:
            self.run_requests(
                map(_engine_request, itertools.chain([first], todo)),
                lambda request_id, response: answered(int(request_id), response),
                self.most_in_flight,
                together=nullcontext if self._journal is None else self._journal.together,
            )
        except RequestRefusedError as error:
            raise UserError(_refusal(requests[int(error.request_id)], error.reason)) from error

    @property
    def most_in_flight(self) -> int:
        """Requests that a run keeps inside the engine."""
        return IN_FLIGHT_PER_SEAT * int(self.llm.llm_engine.vllm_config.scheduler_config.max_num_seqs)

    def run_requests(
        self,
        requests: Iterator[Request],
        on_response: Callable[[str, Response], None],
        at_a_time: int,
        engine: Engine | None = None,
        together: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Answer requests, watched where `hang_timeout_s` is set.

        Args:
            requests: What to answer.
            on_response: Called with the id of a request and its answer.
            at_a_time: Requests inside the engine at a time.
            engine: In place of the engine: one that passes everything on to it.
            together: Around the answers that one step completed.
        """
        engine = engine or self.llm.llm_engine
        if self.hang_timeout_s is None:
            run_requests(engine, requests, on_response, at_a_time, refusal_errors(), together=together)
            return
        with EngineWatchdog(self.hang_timeout_s) as watchdog:
            run_requests(engine, requests, on_response, at_a_time, refusal_errors(), watchdog.beat, together)

    def clean(self) -> None:
        """Shut the engine down, where it was started; lmms-eval calls this once all is answered."""
        last, self.before_end = self.before_end, None
        if last is not None:
            last()
        if self._started is not None:
            self._started.llm_engine.engine_core.shutdown()


def engine_prompt(prompt: ChatPrompt) -> dict[str, Any]:
    """A prompt as vLLM takes it.

    Args:
        prompt: Rendered, with its media.
    """
    payload: dict[str, Any] = {"prompt": prompt.text}
    if prompt.media:
        payload["multi_modal_data"] = dict(prompt.media)
    if prompt.processor_kwargs:
        payload["mm_processor_kwargs"] = dict(prompt.processor_kwargs)
    return payload


def _engine_request(request: OpenRequest) -> Request:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    sampling = SamplingParams(**request.decoding.as_sampling_arguments(), output_kind=RequestOutputKind.FINAL_ONLY)
    return Request(str(request.index), engine_prompt(request.prompt), sampling)


def refusal_errors() -> tuple[type[Exception], ...]:
    """What vLLM raises where it does not take a request."""
    try:
        from vllm.exceptions import VLLMValidationError
    except ImportError:
        return (ValueError,)
    return (ValueError, VLLMValidationError)


def _refusal(request: Instance, reason: str) -> str:
    _, _, _, document, task, _ = request.args
    return (
        f"task {task}, document {document}: vLLM does not take the request: {reason} No prompt is shortened to fit; "
        "raise max_model_len in --model_args, or leave the sample out. Completed responses are in the journal"
    )
