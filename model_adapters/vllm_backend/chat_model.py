"""What our chat models for lmms-eval have in common: the same prompts, the same journal, the same log of a sample."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from lmms_eval.api.instance import GenerationResult, Instance
from lmms_eval.api.model import lmms
from loguru import logger
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.logs.checkpoint_fingerprint import fingerprint_checkpoint
from tliveomni_eval.model_adapters.checkpoint import LocatedCheckpoint, locate_checkpoint
from tliveomni_eval.model_adapters.checkpoint_trust import check_weights, untrusted_code_message
from tliveomni_eval.model_adapters.tliveomni.registration import register_processing
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt, build_chat_prompt
from tliveomni_eval.model_adapters.vllm_backend.decoding import Decoding, decoding_from_generation_kwargs
from tliveomni_eval.model_adapters.vllm_backend.engine_deaths import EngineDeaths, SuspectRequest
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import Response
from tliveomni_eval.model_adapters.vllm_backend.ignored_media import IgnoredMedia
from tliveomni_eval.model_adapters.vllm_backend.media_acceptance import MediaAcceptance
from tliveomni_eval.model_adapters.vllm_backend.media_settings import resolve_media_settings
from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments
from tliveomni_eval.model_adapters.vllm_backend.prompt_prefetch import prefetch_prompts
from tliveomni_eval.model_adapters.vllm_backend.response_journal import ResponseJournal, response_key
from tliveomni_eval.model_adapters.vllm_backend.sample_counts import SampleCounts
from tqdm import tqdm

Progress = Callable[[int, int], None]
"""Called with the number of completed requests and of all requests."""


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request that no journal has an answer for.

    Attributes:
        index: Among the requests of the call.
        prompt: Rendered, with its media.
        decoding: How it is to be answered.
    """

    index: int
    prompt: ChatPrompt
    decoding: Decoding


class ChatModel(lmms):  # type: ignore[misc]
    """A chat model for lmms-eval, without the part that computes.

    A subclass sets `_identity` (what determines a response beside checkpoint, prompt and decoding), calls
    `_prepare_prompts`, and answers in `_answer`.

    Args:
        arguments: What the user set.
        journal: Where completed responses are kept and found again; none by default.
        progress: Called as requests complete, in place of the progress bar.

    Raises:
        UserError: The checkpoint is not there, or its weights are not to be loaded.
    """

    is_simple = False
    model_name: ClassVar[str]

    def __init__(self, arguments: ModelArguments, journal: ResponseJournal | None, progress: Progress | None) -> None:
        super().__init__()
        self.arguments = arguments
        self.checkpoint = locate_checkpoint(arguments.model, arguments.variant)
        check_weights(self.checkpoint.folder, arguments.allow_pickle, arguments.engine_args.get("load_format"))
        self.fingerprint = fingerprint_checkpoint(self.checkpoint.folder)
        self._journal = journal
        self._progress = progress
        self._prompt_hashes: dict[str, dict[int, str]] = {}
        self._acceptance = MediaAcceptance(self.checkpoint, arguments.leaves_media_out)
        self.ignored_media = IgnoredMedia(self.checkpoint.name, self.checkpoint.media_kinds)
        self.kernels: tuple[str, ...] = ()
        self._identity: Mapping[str, Any] = {}
        self.deaths: EngineDeaths | None = None
        """Notes of what is in the engine, where somebody starts a new process after one that died."""
        self.quarantined: list[SuspectRequest] = []
        """Requests that were not asked because the engine died of them."""
        self.answered: list[tuple[Instance, Response, frozenset[str]]] = []
        """Every request that has an answer, with the kinds of media in its prompt."""

    def _prepare_prompts(self, context: int | None) -> None:
        """Load the chat template and settle how media are given.

        Args:
            context: Tokens that prompt and answer may take; None where not known.
        """
        self._template = load_chat_template(self.checkpoint, self.arguments.trust_remote_code)
        self.media_settings = resolve_media_settings(
            self.arguments, self.checkpoint.media_kinds, self.checkpoint.architecture, self._template, context
        )
        if description := self.media_settings.describe():
            logger.info(description)

    def prompt_fingerprint(self, task: str) -> str:
        """SHA-256 over the rendered prompts of a task, in the order of its documents.

        Args:
            task: A task that was answered.
        """
        hashes = self._prompt_hashes[task]
        return hashlib.sha256("".join(hashes[document] for document in sorted(hashes)).encode()).hexdigest()

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
        self._acceptance.check_all(requests, self._document, self.messages)
        responses: dict[int, Response | None] = {}
        keys: dict[int, str] = {}
        kinds: dict[int, frozenset[str]] = {}
        records: dict[int, tuple[Mapping[str, Any], ...]] = {}
        suspects: list[int] = []
        with tqdm(total=len(requests), desc="Answering", disable=self._progress is not None, unit="sample") as bar:

            def complete(index: int, response: Response | None) -> None:
                responses[index] = response
                bar.update(1)
                if self._progress is not None:
                    self._progress(len(responses), len(requests))

            def answered(index: int, response: Response) -> None:
                if self._journal is not None:
                    _, _, _, document, task, _ = requests[index].args
                    self._journal.write(keys[index], task, document, response)
                if self.deaths is not None:
                    self.deaths.left(keys[index])
                complete(index, response)

            def entering(todo: Iterable[OpenRequest]) -> Iterator[OpenRequest]:
                for request in todo:
                    if self.deaths is not None:
                        _, _, _, document, task, _ = requests[request.index].args
                        self.deaths.entered(keys[request.index], task, document)
                    yield request

            crowd = self._open_requests(requests, keys, kinds, records, suspects, complete)
            self._answer(requests, entering(crowd), answered)
            for index in suspects:
                decoding = decoding_from_generation_kwargs(requests[index].args[2])
                suspect = OpenRequest(index, self.prompt(requests[index]), decoding)
                self._answer(requests, entering([suspect]), answered)
        self.answered += [
            (requests[index], response, kinds[index]) for index, response in responses.items() if response is not None
        ]
        return [
            _result(responses[index], records[index], self._document(requests[index])) for index in range(len(requests))
        ]

    def prompt_hash(self, task: str, document: int) -> str:
        """SHA-256 of the rendered prompt of a document that was answered.

        Args:
            task: Its task.
            document: Its number in the task.
        """
        return self._prompt_hashes[task][document]

    def prompt_of_messages(self, messages: Sequence[Mapping[str, Any]]) -> ChatPrompt:
        """Render messages and decode their media as `prompt` does for those of a request."""
        return build_chat_prompt(messages, self._template, self.media_settings)

    @property
    def identity(self) -> Mapping[str, Any]:
        """What determines a response beside checkpoint, prompt and decoding."""
        return self._identity

    @property
    def template(self) -> Any:
        """The processor of the checkpoint, or its tokenizer."""
        return self._template

    @abstractmethod
    def _answer(
        self, requests: list[Instance], todo: Iterator[OpenRequest], answered: Callable[[int, Response], None]
    ) -> None:
        """Answer what is open.

        Args:
            requests: All of the call, to name one in an error.
            todo: Drawn from as there is room; may be empty.
            answered: To be called with the index of a request and its answer, the moment it is complete.
        """

    def _open_requests(
        self,
        requests: list[Instance],
        keys: dict[int, str],
        kinds: dict[int, frozenset[str]],
        records: dict[int, tuple[Mapping[str, Any], ...]],
        suspects: list[int],
        complete: Callable[[int, Response | None], None],
    ) -> Iterator[OpenRequest]:
        """Requests without an answer; those that were in a dying engine go to `suspects`, to be asked alone."""
        for index, prompt in prefetch_prompts(list(range(len(requests))), lambda index: self.prompt(requests[index])):
            _, _, generation_kwargs, document, task, _ = requests[index].args
            self._acceptance.check(task, document, prompt.ignored)
            self.ignored_media.note(task, prompt.ignored)
            records[index] = prompt.records
            kinds[index] = frozenset(prompt.media)
            text_hash = hashlib.sha256(prompt.text.encode()).hexdigest()
            self._prompt_hashes.setdefault(task, {})[document] = text_hash
            decoding = decoding_from_generation_kwargs(generation_kwargs)
            keys[index] = response_key(
                self.fingerprint.fingerprint, self._identity, prompt.key, decoding.as_sampling_arguments()
            )
            known = self._journal.find(keys[index]) if self._journal is not None else None
            if known is not None:
                complete(index, known)
                continue
            suspect = self.deaths.find(keys[index]) if self.deaths is not None else None
            if suspect is None:
                yield OpenRequest(index, prompt, decoding)
            elif suspect.is_quarantined:
                logger.error(
                    f"task {task}, document {document} is given up and counted as error: the engine died of it "
                    f"{suspect.deaths} times ({suspect.reason})"
                )
                self.quarantined.append(suspect)
                complete(index, None)
            else:
                suspects.append(index)

    def prompt(self, request: Instance) -> ChatPrompt:
        """Render the prompt of a request and decode its media.

        Args:
            request: Of a chat task.
        """
        return self.prompt_of_messages(self.messages(request))

    def _document(self, request: Instance) -> Any:
        _, _, _, document, task, split = request.args
        return self.task_dict[task][split][document]

    def messages(self, request: Instance) -> Any:
        """Chat messages of a request.

        Args:
            request: Of a chat task.
        """
        doc_to_messages = request.args[1]
        return doc_to_messages(self._document(request))

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Refused: this backend generates.

        Raises:
            UserError: Always.
        """
        raise UserError(
            f"{self.model_name} answers by generating and computes no log-likelihood; "
            f"leave out the tasks that need it ({', '.join(sorted({request.task_name for request in requests}))})"
        )

    def generate_until_multi_round(self, requests: list[Instance]) -> list[list[str]]:
        """Refused: no task of several rounds runs on this backend.

        Raises:
            UserError: Always.
        """
        raise UserError(
            f"{self.model_name} answers one round a sample; "
            f"leave out the tasks of several rounds ({', '.join(sorted({request.task_name for request in requests}))})"
        )


def load_chat_template(checkpoint: LocatedCheckpoint, trust_remote_code: bool) -> Any:
    """The processor of a checkpoint, or its tokenizer: whichever has the chat template.

    Args:
        checkpoint: Where it lies.
        trust_remote_code: Whether Python files of the checkpoint may run.

    Raises:
        UserError: Neither has one, or the checkpoint asks to run code of its own.
    """
    from transformers import AutoProcessor, AutoTokenizer

    folder = checkpoint.folder
    if checkpoint.architecture.startswith("TLiveOmni"):
        register_processing()
    try:
        template = AutoProcessor.from_pretrained(folder, trust_remote_code=trust_remote_code)
        if getattr(template, "chat_template", None) is None:
            template = AutoTokenizer.from_pretrained(folder, trust_remote_code=trust_remote_code)
    except ValueError as error:
        if message := untrusted_code_message(folder, error):
            raise UserError(message) from None
        raise
    if getattr(template, "chat_template", None) is None:
        raise UserError(f"{folder} has no chat template; add chat_template.jinja to the checkpoint")
    return template


def _result(response: Response | None, media: tuple[Mapping[str, Any], ...], document: Any) -> GenerationResult:
    if response is None:
        # Our tasks take None for a request that failed; tasks of others take a text alone.
        is_ours = isinstance(document, Mapping) and document.keys() >= {"cluster", "slices", "reference"}
        return GenerationResult(text=None if is_ours else "", token_counts=SampleCounts(0, 0, media))
    counts = SampleCounts(response.input_tokens, response.output_tokens, media)
    return GenerationResult(text=response.text, token_counts=counts)
