"""`--model_args` of `tliveomni_vllm`: known keys with types; a wrong key is an error that names the nearest one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from tliveomni_eval.evals.errors import UserError, unknown_name_message
from tliveomni_eval.model_adapters.tliveomni_vllm.parity_switches import parse_parity

MediaNotTaken = Literal["error", "leave_out"]
IGNORED_BY_VLLM = ("batch_size", "max_batch_size", "device")
"""What lmms-eval hands to every model; vLLM batches continuously and picks its device itself."""

_MEDIA_COUNTS = ("max_frames", "min_pixels", "max_pixels")


@dataclass(frozen=True, slots=True)
class ModelArguments:
    """What a user may set for the backend. None leaves the choice to the backend, which says what it chose.

    Attributes:
        model: Checkpoint folder or hub name; empty for the embedded TLiveOmni-nano.
        variant: Precision of the embedded checkpoint to load (`bf16`, `w8a8`, …), or a label for one named by `model`.
        tensor_parallel_size: GPUs that share each layer, ≥ 1.
        gpu_memory_utilization: Share of GPU memory for weights and KV cache, in (0, 1].
        max_model_len: Longest prompt plus output, in tokens.
        max_num_seqs: Requests in one engine step, ≥ 1.
        limit_mm_per_prompt: Most media of each kind in one request, e.g. `{"image": 4}`.
        seed: Seed of the engine.
        dtype: Type of the unquantized weights and the activations, e.g. `bfloat16`.
        enforce_eager: No graph capture, no compilation.
        parity: Alignments of TLiveOmni with transformers to turn off, joined by `+`; see
            `tliveomni_vllm.parity_switches`.
        use_audio_in_video: Whether the sound of a video is given with it, interleaved by time; on by default where the
            checkpoint takes audio and video.
        fps: Frames a second that are taken of a video, > 0; by default what the checkpoint's video processor asks for.
        max_frames: Most frames of one video, ≥ 1; likewise.
        min_pixels: Images and frames with fewer pixels are enlarged before the checkpoint's own processor sees them.
        max_pixels: Images and frames with more pixels are shrunk before the checkpoint's own processor sees them.
        media_not_taken: What happens to media that the checkpoint does not take: `error` (no sample runs) or
            `leave_out` (the prompts lack them, and the log says so). `leave_out` for the embedded nano, which is asked
            all tasks of `live`, and `error` for any other.
        trust_remote_code: Whether Python files of the checkpoint may run. Off unless asked for; `run.json` records it.
        allow_pickle: Whether weights that are no safetensors but pickles, which can run any program, may be loaded.
        engine_args: Any other argument of vLLM's `EngineArgs`; these win over what the backend chose.
    """

    model: str = ""
    variant: str = ""
    tensor_parallel_size: int = 1
    gpu_memory_utilization: float | None = None
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    limit_mm_per_prompt: Mapping[str, int] | None = None
    seed: int = 0
    dtype: str | None = None
    enforce_eager: bool | None = None
    parity: str = ""
    use_audio_in_video: bool | None = None
    fps: float | None = None
    max_frames: int | None = None
    min_pixels: int | None = None
    max_pixels: int | None = None
    media_not_taken: MediaNotTaken | None = None
    trust_remote_code: bool = False
    allow_pickle: bool = False
    engine_args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def leaves_media_out(self) -> bool:
        """Whether prompts lack media that the checkpoint does not take; else a task that has them is an error.

        Nano is asked all tasks of a group, whatever they hold, and its log says what it was not given.
        """
        return (self.media_not_taken or ("error" if self.model else "leave_out")) == "leave_out"

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> ModelArguments:
        """Check and type the arguments lmms-eval parsed.

        Args:
            given: Key to value; values may still be text.

        Raises:
            UserError: A key is unknown, or a value has the wrong type or is out of range.
        """
        known = [item.name for item in fields(cls)]
        values: dict[str, Any] = {}
        for key, value in given.items():
            if key in IGNORED_BY_VLLM:
                continue
            if key not in known:
                raise UserError(
                    "--model_args: "
                    + unknown_name_message("key", key, known)
                    + ' Other vLLM arguments go into engine_args, e.g. engine_args={"enable_prefix_caching": false}.'
                )
            if value is not None:
                values[key] = _typed(key, value)
        return cls(**values)


def split_model_args(text: str) -> dict[str, str]:
    """Split `key=value,key=value`; commas inside JSON braces, brackets and quotes do not split.

    Args:
        text: As typed after `--model_args`.

    Raises:
        UserError: A part has no `=`.
    """
    parts, depth, quoted, start = [], 0, False, 0
    for position, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif not quoted and character in "{[":
            depth += 1
        elif not quoted and character in "}]":
            depth -= 1
        elif character == "," and not quoted and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    given = {}
    for part in filter(str.strip, parts):
        key, equals, value = part.partition("=")
        if not equals:
            raise UserError(f"--model_args: {part.strip()!r} has no '='; write key=value,key=value")
        given[key.strip()] = value.strip()
    return given


def _typed(key: str, value: Any) -> Any:
    try:
        if key in ("tensor_parallel_size", "max_model_len", "max_num_seqs", "seed", *_MEDIA_COUNTS):
            return _whole_number(value, least=0 if key == "seed" else 1)
        if key == "gpu_memory_utilization":
            share = float(value)
            if not 0 < share <= 1:
                raise ValueError("must be above 0 and at most 1")
            return share
        if key == "fps":
            return _rate(value)
        if key == "media_not_taken":
            return _choice(value, get_args(MediaNotTaken))
        if key in ("enforce_eager", "trust_remote_code", "allow_pickle", "use_audio_in_video"):
            return _truth(value)
        if key == "parity":
            return "+".join(parse_parity(value).switches)
        if key in ("limit_mm_per_prompt", "engine_args"):
            return _json_object(value)
    except (TypeError, ValueError) as error:
        raise UserError(f"--model_args: {key}={value!r}: {error}") from None
    return str(value)


def _whole_number(value: Any, least: int) -> int:
    if isinstance(value, bool) or float(value) != int(float(value)):
        raise ValueError("must be a whole number")
    if int(float(value)) < least:
        raise ValueError(f"must be at least {least}")
    return int(float(value))


def _rate(value: Any) -> float:
    rate = float(value)
    if not 0 < rate < float("inf"):
        raise ValueError("must be above 0")
    return rate


def _choice(value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(f"must be {' or '.join(choices)}")
    return str(value)


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in ("true", "false", "1", "0"):
        raise ValueError("must be true or false")
    return text in ("true", "1")


def _json_object(value: Any) -> dict[str, Any]:
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except json.JSONDecodeError as error:
        raise ValueError(f"must be a JSON object: {error}") from None
    if not isinstance(parsed, Mapping):
        raise ValueError('must be a JSON object such as {"image": 4}')
    return dict(parsed)
