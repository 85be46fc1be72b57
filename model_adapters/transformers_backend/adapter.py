"""The lmms-eval model `tliveomni_hf`: chat tasks answered by transformers in this process, one after the other."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from lmms_eval.api.instance import Instance
from loguru import logger
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.checkpoint_trust import remote_code_digest
from tliveomni_eval.model_adapters.transformers_backend.reference_model import ReferenceModel, load_reference
from tliveomni_eval.model_adapters.transformers_backend.stop_texts import StopTexts
from tliveomni_eval.model_adapters.vllm_backend.chat_model import ChatModel, OpenRequest, Progress
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt
from tliveomni_eval.model_adapters.vllm_backend.decoding import Decoding
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import Response
from tliveomni_eval.model_adapters.vllm_backend.engine_settings import (
    CPU_MAX_MODEL_LEN,
    DeviceKind,
    EngineSettings,
    cpu_dtype,
)
from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments
from tliveomni_eval.model_adapters.vllm_backend.response_journal import ResponseJournal

OF_VLLM_ALONE = (
    "tensor_parallel_size", "gpu_memory_utilization", "max_num_seqs", "limit_mm_per_prompt", "enforce_eager", "parity",
    "engine_args",
)  # fmt: skip
"""Arguments that concern vLLM's engine."""
SMALL_MODEL = 100_000_000
"""Parameters below which one core answers about as fast as two that are idle, and many times faster than two that are
not: threads that wait for each other at each of hundreds of small layers lose what they gain."""

_GENERATION_SETTINGS = ("top_p", "top_k", "min_p", "repetition_penalty")
"""Sampling parameters that transformers has by the same names and with the same meaning."""


@dataclass(frozen=True, slots=True)
class GeneratedAnswer:
    """An answer and what led to it.

    Attributes:
        inputs: What the model was given.
        prompt_tokens: Tokens of the prompt, media placeholders included.
        tokens: Of the answer, with the one that ended it.
        text: Decoded answer, without a stop text.
        finish_reason: `stop`, or `length` where it was cut.
    """

    inputs: Mapping[str, Any]
    prompt_tokens: int
    tokens: tuple[int, ...]
    text: str
    finish_reason: str


class TLiveOmniHF(ChatModel):
    """A chat model for lmms-eval that runs a checkpoint in transformers: slow, and what others are held against.

    Prompts, media and what a sample's log says of them are those of `tliveomni_vllm`. A quantized checkpoint computes
    as the package `compressed-tensors` emulates it, in the type of the activations.

    Args:
        journal: Where completed responses are kept and found again; none by default.
        progress: Called as requests complete, in place of the progress bar.
        arguments: `--model_args`; see `ModelArguments`. Those that concern vLLM's engine are refused.

    Raises:
        UserError: An argument is wrong, the checkpoint is not there, or transformers does not load it.
    """

    model_name = "tliveomni_hf"

    def __init__(
        self, *, journal: ResponseJournal | None = None, progress: Progress | None = None, **arguments: Any
    ) -> None:
        import torch

        batch_size = arguments.pop("batch_size", None)
        if batch_size not in (None, 1, "1"):
            raise UserError(f"--batch_size {batch_size}: tliveomni_hf answers one sample at a time; give 1, or nothing")
        self._device = torch_device(arguments.pop("device", None))
        given = ModelArguments.from_mapping(arguments)
        _refuse_arguments_of_vllm(given)
        super().__init__(given, journal, progress)
        self.device_kind: DeviceKind = "cpu" if self._device == "cpu" else "gpu"
        self.settings = self._settings()
        logger.info(
            f"checkpoint {self.checkpoint.name} {self.checkpoint.variant} ({self.checkpoint.architecture}) in "
            f"transformers on {self._device}; chosen for this machine: {self.settings.summary()}"
        )
        self._prepare_prompts(self.settings.engine_args["max_model_len"])
        self._identity = {
            "backend": "transformers",
            "transformers": importlib.metadata.version("transformers"),
            "torch": torch.__version__,
            "device": self.device_kind,
            **{key: self.settings.engine_args[key] for key in ("dtype", "max_model_len", "seed")},
        }
        if given.trust_remote_code:
            self._identity |= {"remote_code": remote_code_digest(self.checkpoint.folder)}
        if journal is None or len(journal) == 0:
            _ = self.reference

    def _settings(self) -> EngineSettings:
        given, longest = self.arguments, self.checkpoint.max_model_len
        chosen: dict[str, Any] = {"dtype": cpu_dtype() if self._device == "cpu" else "bfloat16"}
        chosen["max_model_len"] = longest
        if self._device == "cpu" and longest is not None:
            chosen["max_model_len"] = min(longest, CPU_MAX_MODEL_LEN)
        set_by_user = {
            key: value
            for key, value in (("dtype", given.dtype), ("max_model_len", given.max_model_len))
            if value is not None
        }
        always = {
            "model": str(self.checkpoint.folder),
            "seed": given.seed,
            "trust_remote_code": given.trust_remote_code,
            "device": self._device,
        }
        return EngineSettings(
            always | chosen | set_by_user, {key: value for key, value in chosen.items() if key not in set_by_user}
        )

    @cached_property
    def reference(self) -> ReferenceModel:
        """The model; where a journal may hold every answer already, it loads with the first one that is missing."""
        import torch

        torch.manual_seed(self.arguments.seed)
        loaded = load_reference(
            self.checkpoint, self._device, self.settings.engine_args["dtype"], self.arguments.trust_remote_code
        )
        if self._device == "cpu" and loaded.model.num_parameters() < SMALL_MODEL:
            torch.set_num_threads(1)
            logger.info("computes on one core: the layers of so small a model are not worth sharing")
        return loaded

    @property
    def engine_started(self) -> bool:
        """Whether any request needed the model."""
        return "reference" in self.__dict__

    def _answer(
        self, requests: list[Instance], todo: Iterator[OpenRequest], answered: Callable[[int, Response], None]
    ) -> None:
        for request in todo:
            try:
                response = self.respond(request)
            except UserError as error:
                _, _, _, document, task, _ = requests[request.index].args
                raise UserError(
                    f"task {task}, document {document}: {error}. Completed responses are in the journal"
                ) from error
            answered(request.index, response)

    def respond(self, request: OpenRequest) -> Response:
        """Answer one request.

        Args:
            request: With its prompt.

        Raises:
            UserError: Its prompt is longer than the context, or its decoding asks for what transformers has not.
        """
        answer = self.generate(request.prompt, request.decoding)
        return Response(answer.text, answer.prompt_tokens, len(answer.tokens), answer.finish_reason)

    def generate(self, prompt: ChatPrompt, decoding: Decoding) -> GeneratedAnswer:
        """Answer one prompt, and keep what an answer consists of.

        Args:
            prompt: Rendered, with its media.
            decoding: How it is to be answered.

        Raises:
            UserError: As `respond`.
        """
        inputs = self.reference.inputs(prompt)
        length = int(inputs["input_ids"].shape[1])
        longest = self.settings.engine_args["max_model_len"]
        if longest is not None and length >= longest:
            raise UserError(
                f"the prompt has {length} tokens, and the context holds {longest}; no prompt is shortened to fit: "
                "raise max_model_len in --model_args, or leave the sample out"
            )
        room = decoding.max_tokens if longest is None else min(decoding.max_tokens, longest - length)
        stop = StopTexts(self.reference.text, decoding.stop, length)
        settings = generation_settings(decoding) | {"max_new_tokens": room}
        tokens = self.reference.generate(inputs, [stop] if decoding.stop else [], **settings)
        text, stopped = stop.cut(self.reference.text(tokens))
        ended = stopped or tokens[-1] in self.reference.end_ids
        return GeneratedAnswer(inputs, length, tuple(tokens), text, "stop" if ended else "length")

    def clean(self) -> None:
        """Give the model's memory back."""
        self.__dict__.pop("reference", None)


def torch_device(asked: str | None) -> str:
    """Where to compute: what the user asked for, else a GPU where there is one.

    Args:
        asked: As torch names it; lmms-eval gives `cuda` or nothing where the user said nothing.

    Raises:
        UserError: It is not there.
    """
    import torch

    if asked in (None, "", "auto", "cuda") and not (asked == "cuda" and torch.cuda.is_available()):
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=asked)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"--device {asked!r}: {str(error).splitlines()[0]}; give cpu, cuda or cuda:0") from None
    return str(asked)


def generation_settings(decoding: Decoding) -> dict[str, Any]:
    """Arguments of transformers' `GenerationConfig`, but for the number of tokens.

    Args:
        decoding: Of a task.

    Raises:
        UserError: It asks for what transformers has not.
    """
    settings: dict[str, Any] = {"do_sample": decoding.temperature > 0}
    if decoding.temperature > 0:
        settings["temperature"] = decoding.temperature
    for key, value in decoding.other.items():
        if key in _GENERATION_SETTINGS:
            settings[key] = value
        elif key != "seed" and value:
            raise UserError(f"generation_kwargs: {key}={value!r} is not available in transformers; leave it out")
    return settings


def _refuse_arguments_of_vllm(given: ModelArguments) -> None:
    defaults = {item.name: getattr(ModelArguments(), item.name) for item in fields(ModelArguments)}
    for key in OF_VLLM_ALONE:
        if (value := getattr(given, key)) != defaults[key]:
            raise UserError(
                f"--model_args: {key}={value!r} concerns vLLM; tliveomni_hf has no such setting, leave it out"
            )
