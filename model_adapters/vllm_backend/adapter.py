"""The lmms-eval model `tliveomni_vllm`: chat tasks answered by vLLM in this process."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lmms_eval.api.instance import GenerationResult, Instance
from lmms_eval.api.model import lmms
from loguru import logger
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.logs.checkpoint_fingerprint import fingerprint_checkpoint
from tliveomni_eval.model_adapters.checkpoint import locate_checkpoint
from tliveomni_eval.model_adapters.checkpoint_trust import check_weights, remote_code_digest, untrusted_code_message
from tliveomni_eval.model_adapters.tliveomni.registration import register_processing
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt, build_chat_prompt
from tliveomni_eval.model_adapters.vllm_backend.decoding import decoding_from_generation_kwargs
from tliveomni_eval.model_adapters.vllm_backend.engine_log import KernelLog, say_repeated_warnings_once
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import Request, RequestRefusedError, Response, run_requests
from tliveomni_eval.model_adapters.vllm_backend.engine_settings import (
    prepare_environment,
    resolve_engine_settings,
)
from tliveomni_eval.model_adapters.vllm_backend.ignored_media import IgnoredMedia
from tliveomni_eval.model_adapters.vllm_backend.installed_engine import installed_device, installed_version
from tliveomni_eval.model_adapters.vllm_backend.media_acceptance import MediaAcceptance
from tliveomni_eval.model_adapters.vllm_backend.media_settings import resolve_media_settings
from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments
from tliveomni_eval.model_adapters.vllm_backend.parity_arguments import with_parity
from tliveomni_eval.model_adapters.vllm_backend.prompt_prefetch import prefetch_prompts
from tliveomni_eval.model_adapters.vllm_backend.response_journal import ResponseJournal, response_key
from tliveomni_eval.model_adapters.vllm_backend.sample_counts import SampleCounts
from tqdm import tqdm

if TYPE_CHECKING:
    from vllm import LLM

Progress = Callable[[int, int], None]
"""Called with the number of completed requests and of all requests."""

_NO_PART_OF_THE_ANSWER = ("model", "trust_remote_code")
IN_FLIGHT_PER_SEAT = 2
"""Requests inside the engine for each one it can run at a time: the next ones are preprocessed when a seat frees."""


class TLiveOmniVLLM(lmms):  # type: ignore[misc]
    """A chat model for lmms-eval that runs a checkpoint on vLLM with continuous batching.

    Args:
        journal: Where completed responses are kept and found again; none by default.
        progress: Called as requests complete, in place of the progress bar.
        arguments: `--model_args`; see `ModelArguments`.

    Raises:
        UserError: An argument is wrong, the checkpoint is not there, or vLLM is not installed or does not start.
    """

    is_simple = False

    def __init__(
        self, *, journal: ResponseJournal | None = None, progress: Progress | None = None, **arguments: Any
    ) -> None:
        super().__init__()
        self.arguments = ModelArguments.from_mapping(arguments)
        self.device_kind = installed_device()
        self.checkpoint = locate_checkpoint(self.arguments.model, self.arguments.variant)
        check_weights(
            self.checkpoint.folder, self.arguments.allow_pickle, self.arguments.engine_args.get("load_format")
        )
        self.fingerprint = fingerprint_checkpoint(self.checkpoint.folder)
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
        self._journal = journal
        self._progress = progress
        self._prompt_hashes: dict[str, dict[int, str]] = {}
        self._acceptance = MediaAcceptance(self.checkpoint, self.arguments.leaves_media_out)
        self.ignored_media = IgnoredMedia(self.checkpoint.name, self.checkpoint.media_kinds)
        self.kernels: tuple[str, ...] = ()
        self._template = self._chat_template()
        context = self.settings.engine_args.get("max_model_len") or self.checkpoint.max_model_len
        self.media_settings = resolve_media_settings(
            self.arguments, self.checkpoint.media_kinds, self.checkpoint.architecture, self._template, context
        )
        if description := self.media_settings.describe():
            logger.info(description)
        self._engine_identity = {
            **{key: value for key, value in self.settings.engine_args.items() if key not in _NO_PART_OF_THE_ANSWER},
            "device": self.device_kind,
            "vllm": installed_version(),
        }
        if self.settings.engine_args["trust_remote_code"]:
            self._engine_identity["remote_code"] = remote_code_digest(self.checkpoint.folder)
        self._started: LLM | None = None
        if journal is None or len(journal) == 0:
            self._started = self._start_engine()

    @property
    def _llm(self) -> LLM:
        """The engine; where a journal may hold every answer already, it starts with the first one that is missing."""
        if self._started is None:
            self._started = self._start_engine()
        return self._started

    @property
    def engine_started(self) -> bool:
        """Whether any request needed the engine."""
        return self._started is not None

    def prompt_fingerprint(self, task: str) -> str:
        """SHA-256 over the rendered prompts of a task, in the order of its documents.

        Args:
            task: A task that was answered.
        """
        hashes = self._prompt_hashes[task]
        return hashlib.sha256("".join(hashes[document] for document in sorted(hashes)).encode()).hexdigest()

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

    def _chat_template(self) -> Any:
        from transformers import AutoProcessor, AutoTokenizer

        if self.checkpoint.architecture.startswith("TLiveOmni"):
            register_processing()
        trust = bool(self.settings.engine_args["trust_remote_code"])
        try:
            template = AutoProcessor.from_pretrained(self.checkpoint.folder, trust_remote_code=trust)
            if getattr(template, "chat_template", None) is None:
                template = AutoTokenizer.from_pretrained(self.checkpoint.folder, trust_remote_code=trust)
        except ValueError as error:
            if message := untrusted_code_message(self.checkpoint.folder, error):
                raise UserError(message) from None
            raise
        if getattr(template, "chat_template", None) is None:
            raise UserError(f"{self.checkpoint.folder} has no chat template; add chat_template.jinja to the checkpoint")
        return template

    def generate_until(self, requests: list[Instance]) -> list[GenerationResult]:
        """Answer chat requests.

        Args:
            requests: lmms-eval instances of a chat task.

        Returns:
            One result a request, in the order of the requests, with token counts.

        Raises:
            UserError: A medium cannot be read, or a prompt is longer than the context; completed responses are in the
                journal.
        """
        self._acceptance.check_all(requests, self._document, self._messages)
        responses: dict[int, Response] = {}
        keys: dict[int, str] = {}
        records: dict[int, tuple[Mapping[str, Any], ...]] = {}
        with tqdm(total=len(requests), desc="Answering", disable=self._progress is not None, unit="sample") as bar:

            def complete(index: int, response: Response) -> None:
                responses[index] = response
                bar.update(1)
                if self._progress is not None:
                    self._progress(len(responses), len(requests))

            def answered(request_id: str, response: Response) -> None:
                index = int(request_id)
                if self._journal is not None:
                    _, _, _, document, task, _ = requests[index].args
                    self._journal.write(keys[index], task, document, response)
                complete(index, response)

            unanswered = self._unanswered(requests, keys, records, complete)
            first = next(unanswered, None)
            if first is not None:
                engine = self._llm.llm_engine
                seats = engine.vllm_config.scheduler_config.max_num_seqs
                try:
                    todo = itertools.chain([first], unanswered)
                    run_requests(engine, todo, answered, IN_FLIGHT_PER_SEAT * seats, _refusal_errors())
                except RequestRefusedError as error:
                    raise UserError(_refusal(requests[int(error.request_id)], error.reason)) from error
        return [_result(responses[index], records[index]) for index in range(len(requests))]

    def _unanswered(
        self,
        requests: list[Instance],
        keys: dict[int, str],
        records: dict[int, tuple[Mapping[str, Any], ...]],
        complete: Callable[[int, Response], None],
    ) -> Iterator[Request]:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        for index, prompt in prefetch_prompts(list(range(len(requests))), lambda index: self._prompt(requests[index])):
            _, _, generation_kwargs, document, task, _ = requests[index].args
            self._acceptance.check(task, document, prompt.ignored)
            self.ignored_media.note(task, prompt.ignored)
            records[index] = prompt.records
            text_hash = hashlib.sha256(prompt.text.encode()).hexdigest()
            self._prompt_hashes.setdefault(task, {})[document] = text_hash
            sampling = decoding_from_generation_kwargs(generation_kwargs).as_sampling_arguments()
            keys[index] = response_key(self.fingerprint.fingerprint, self._engine_identity, prompt.key, sampling)
            known = self._journal.find(keys[index]) if self._journal is not None else None
            if known is not None:
                complete(index, known)
                continue
            payload: dict[str, Any] = {"prompt": prompt.text}
            if prompt.media:
                payload["multi_modal_data"] = dict(prompt.media)
            if prompt.processor_kwargs:
                payload["mm_processor_kwargs"] = dict(prompt.processor_kwargs)
            yield Request(str(index), payload, SamplingParams(**sampling, output_kind=RequestOutputKind.FINAL_ONLY))

    def _prompt(self, request: Instance) -> ChatPrompt:
        return build_chat_prompt(self._messages(request), self._template, self.media_settings)

    def _document(self, request: Instance) -> Any:
        _, _, _, document, task, split = request.args
        return self.task_dict[task][split][document]

    def _messages(self, request: Instance) -> Any:
        doc_to_messages = request.args[1]
        return doc_to_messages(self._document(request))

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Refused: this backend generates.

        Raises:
            UserError: Always.
        """
        raise UserError(
            "tliveomni_vllm answers by generating and computes no log-likelihood; "
            f"leave out the tasks that need it ({', '.join(sorted({request.task_name for request in requests}))})"
        )

    def generate_until_multi_round(self, requests: list[Instance]) -> list[list[str]]:
        """Refused: no task of several rounds runs on this backend.

        Raises:
            UserError: Always.
        """
        raise UserError(
            "tliveomni_vllm answers one round a sample; "
            f"leave out the tasks of several rounds ({', '.join(sorted({request.task_name for request in requests}))})"
        )

    def clean(self) -> None:
        """Shut the engine down, where it was started."""
        if self._started is not None:
            self._started.llm_engine.engine_core.shutdown()


def _refusal_errors() -> tuple[type[Exception], ...]:
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


def _result(response: Response, media: tuple[Mapping[str, Any], ...]) -> GenerationResult:
    counts = SampleCounts(response.input_tokens, response.output_tokens, media)
    return GenerationResult(text=response.text, token_counts=counts)
