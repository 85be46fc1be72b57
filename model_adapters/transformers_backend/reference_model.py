"""A checkpoint in transformers: loading it, giving it a prompt, and what it says to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.checkpoint import LocatedCheckpoint
from tliveomni_eval.model_adapters.checkpoint_trust import untrusted_code_message
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt
from torch import Tensor

DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class ReferenceModel:
    """A loaded checkpoint.

    Attributes:
        model: With language head, in evaluation mode.
        processor: Of the checkpoint.
        tokenizer: Of the checkpoint.
        device: Where the model lies, as torch names it.
        dtype: Of its unquantized weights and its activations, e.g. `float32`.
        end_ids: Tokens that end an answer.
    """

    model: Any
    processor: Any
    tokenizer: Any
    device: str
    dtype: str
    end_ids: tuple[int, ...]

    def inputs(self, prompt: ChatPrompt) -> dict[str, Any]:
        """What the model takes for a prompt, on its device.

        Args:
            prompt: Rendered, with its media.

        Raises:
            UserError: The checkpoint's processor does not take them.
        """
        try:
            batch = self.processor(text=[prompt.text], return_tensors="pt", **processor_media(prompt))
        except (ValueError, TypeError, IndexError) as error:
            raise UserError(f"the checkpoint's processor does not take the prompt: {error}") from error
        return {key: value.to(self.device) if hasattr(value, "to") else value for key, value in batch.items()}

    def generate(self, inputs: Mapping[str, Any], stopping: Sequence[Any] = (), **settings: Any) -> list[int]:
        """Answer a prompt.

        Args:
            inputs: Of one prompt, as `inputs` gives them.
            stopping: Further criteria of transformers that end an answer.
            **settings: Of a `GenerationConfig`, e.g. `max_new_tokens`; nothing of the checkpoint's own applies.

        Returns:
            Tokens of the answer, with the one that ended it.
        """
        import torch
        from transformers import GenerationConfig, StoppingCriteriaList

        self._forget_positions()
        settings = {"do_sample": False, "eos_token_id": list(self.end_ids), "pad_token_id": self.end_ids[0]} | settings
        with torch.inference_mode():
            output = self.model.generate(
                **inputs,
                generation_config=GenerationConfig(**settings),
                stopping_criteria=StoppingCriteriaList(stopping),
            )
        length = inputs["input_ids"].shape[1]
        tokens: list[int] = output[0, length:].tolist()
        return tokens

    def log_probabilities(self, inputs: Mapping[str, Any], answer: Sequence[int]) -> Tensor:
        """Log-probabilities of every token of the vocabulary at each place of an answer, under teacher forcing.

        Args:
            inputs: Of one prompt, as `inputs` gives them.
            answer: Tokens that follow it, at least one.

        Returns:
            (answer tokens, vocabulary), float32, in nats, on the CPU.
        """
        import torch

        self._forget_positions()
        given = dict(inputs)
        more = torch.tensor([list(answer)], dtype=torch.long, device=self.device)
        given["input_ids"] = torch.cat([given["input_ids"], more], dim=1)
        if "attention_mask" in given:
            given["attention_mask"] = torch.ones_like(given["input_ids"])
        if "mm_token_type_ids" in given:
            types = given["mm_token_type_ids"]
            given["mm_token_type_ids"] = torch.cat([types, torch.zeros_like(more, dtype=types.dtype)], dim=1)
        with torch.inference_mode():
            logits = self.model(**given, use_cache=False, logits_to_keep=len(answer) + 1).logits
        return logits[0, -(len(answer) + 1) : -1].float().log_softmax(-1).cpu()

    def text(self, tokens: Sequence[int]) -> str:
        """The text of answer tokens, without special tokens.

        Args:
            tokens: Of an answer.
        """
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True))

    def _forget_positions(self) -> None:
        """Qwen3-VL keeps how far positions ran ahead in the last prompt, and would go on from there in one of text."""
        inner = getattr(self.model, "model", None)
        if getattr(inner, "rope_deltas", None) is not None:
            inner.rope_deltas = None  # type: ignore[union-attr]


def processor_media(prompt: ChatPrompt) -> dict[str, Any]:
    """The media of a prompt as arguments of a transformers processor.

    Args:
        prompt: Rendered, with its media as vLLM takes them.
    """
    arguments: dict[str, Any] = dict(prompt.processor_kwargs)
    if images := prompt.media.get("image"):
        arguments["images"] = list(images)
    if videos := prompt.media.get("video"):
        arguments["videos"] = [frames for frames, _ in videos]
        described = [dict(metadata) for _, metadata in videos]
        arguments["do_sample_frames"] = any([metadata.pop("do_sample_frames", False) for metadata in described])
        arguments["video_metadata"] = described
    if audios := prompt.media.get("audio"):
        arguments["audio"] = [samples for samples, _ in audios]
    return arguments


def load_reference(
    checkpoint: LocatedCheckpoint, device: str, dtype: str, trust_remote_code: bool = False
) -> ReferenceModel:
    """Load a checkpoint with transformers.

    Args:
        checkpoint: Where it lies.
        device: As torch names it, e.g. `cpu` or `cuda`.
        dtype: One of `DTYPES`.
        trust_remote_code: Whether Python files of the checkpoint may run.

    Raises:
        UserError: transformers cannot load it, e.g. because it is quantized in a way that it lacks a package for.
    """
    import torch
    from tliveomni_eval.model_adapters.tliveomni.registration import register
    from transformers import AutoModelForMultimodalLM, AutoProcessor

    if dtype not in DTYPES:
        raise UserError(f"--model_args: dtype={dtype!r}: must be {', '.join(DTYPES)}")
    if checkpoint.architecture.startswith("TLiveOmni"):
        register()
    try:
        model = AutoModelForMultimodalLM.from_pretrained(
            checkpoint.folder, dtype=getattr(torch, dtype), trust_remote_code=trust_remote_code
        )
        processor = AutoProcessor.from_pretrained(checkpoint.folder, trust_remote_code=trust_remote_code)
    except Exception as error:
        if message := untrusted_code_message(checkpoint.folder, error):
            raise UserError(message) from None
        reason = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
        raise UserError(
            f"transformers does not load {checkpoint.folder} ({checkpoint.architecture}): {reason}"
        ) from error
    model = model.to(device).eval()
    tokenizer = getattr(processor, "tokenizer", processor)
    return ReferenceModel(model, processor, tokenizer, device, dtype, _end_ids(model, tokenizer))


def _end_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """As vLLM takes them: of the tokenizer, and those of `generation_config.json`."""
    named = getattr(model.generation_config, "eos_token_id", None)
    ids = [*(named if isinstance(named, list) else [named]), tokenizer.eos_token_id]
    return tuple(dict.fromkeys(int(token) for token in ids if token is not None))
