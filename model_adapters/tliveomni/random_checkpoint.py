"""Checkpoints with random weights, for tests and for measuring; size and seed decide them on every machine."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.model_adapters.nano.build_tokenizer import (
    TOKENIZER_FILE,
    embedding_rows,
    run_tokenizer,
    special_token_ids,
    tokenizer_config,
)
from tliveomni_eval.model_adapters.nano.embedded_checkpoints import checkpoint_path

from .audio_lengths import SAMPLING_RATE
from .chat_template import CHAT_TEMPLATE
from .configuration import ARCHITECTURE, TLiveOmniConfig

Size = Literal["tiny", "8b"]
SHARD_BYTES = 4 * 2**30
"""A file of weights holds no more than this, unless one tensor alone does."""
QWEN_EMBEDDING_ROWS = 151_936
CONTEXT_TOKENS = 131_072
SPREAD_OF_LOGITS = 2.5
"""Standard deviation of the logits that the embedding is scaled for: far from uniform, far from certain."""
DEFAULT_DTYPES: dict[str, str] = {"tiny": "float32", "8b": "bfloat16"}

_TEXT: dict[str, dict[str, Any]] = {
    "tiny": {
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "mrope_section": [6, 5, 5],
    },
    "8b": {
        "hidden_size": 4096,
        "intermediate_size": 12_288,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "mrope_section": [24, 20, 20],
    },
}
_VISION: dict[str, dict[str, Any]] = {
    "tiny": {
        "depth": 3,
        "hidden_size": 64,
        "num_heads": 2,
        "intermediate_size": 128,
        "num_position_embeddings": 64,
        "deepstack_visual_indexes": [0, 1],
    },
    "8b": {
        "depth": 27,
        "hidden_size": 1152,
        "num_heads": 16,
        "intermediate_size": 4304,
        "num_position_embeddings": 2304,
        "deepstack_visual_indexes": [8, 16, 24],
    },
}
_AUDIO: dict[str, dict[str, Any]] = {
    "tiny": {
        "encoder_layers": 4,
        "encoder_attention_heads": 2,
        "encoder_ffn_dim": 128,
        "d_model": 64,
        "downsample_hidden_size": 16,
    },
    "8b": {
        "encoder_layers": 32,
        "encoder_attention_heads": 20,
        "encoder_ffn_dim": 5120,
        "d_model": 1280,
        "downsample_hidden_size": 480,
    },
}
_AUDIO_DEEPSTACK: dict[str, list[int]] = {"tiny": [0, 1, 2], "8b": [8, 16, 24]}
"""`tiny` has one level more for audio than for vision, so that the two are told apart."""
_IMAGE_PIXELS = {"tiny": (64 * 64, 512 * 512), "8b": (256 * 256, 4096 * 4096)}
"""Fewest and most pixels of an image; and, for a video, fewest and most of a frame group times the groups."""


def random_config(size: Size, vocab_size: int, token_ids: dict[str, int], dtype: str) -> TLiveOmniConfig:
    """The configuration of a size.

    Args:
        size: `tiny` for tests; `8b` has the widths of Qwen3-VL-8B and of Qwen3-Omni's audio encoder.
        vocab_size: Rows of the embedding.
        token_ids: Id of each special token by its text.
        dtype: Of the weights, such as `bfloat16`.
    """
    text = dict(_TEXT[size])
    rope = {
        "rope_type": "default",
        "rope_theta": 5_000_000.0,
        "mrope_section": text.pop("mrope_section"),
        "mrope_interleaved": True,
    }
    tied = size == "tiny"
    return TLiveOmniConfig(
        architectures=[ARCHITECTURE],
        dtype=dtype,
        tie_word_embeddings=tied,
        image_token_id=token_ids["<|image_pad|>"],
        video_token_id=token_ids["<|video_pad|>"],
        audio_token_id=token_ids["<|audio_pad|>"],
        vision_start_token_id=token_ids["<|vision_start|>"],
        vision_end_token_id=token_ids["<|vision_end|>"],
        audio_start_token_id=token_ids["<|audio_start|>"],
        audio_end_token_id=token_ids["<|audio_end|>"],
        audio_deepstack_layer_indexes=_AUDIO_DEEPSTACK[size],
        text_config={
            **text,
            "vocab_size": vocab_size,
            "max_position_embeddings": CONTEXT_TOKENS,
            "rope_parameters": rope,
            "bos_token_id": None,
            "eos_token_id": token_ids["<|im_end|>"],
            "pad_token_id": None,
            "tie_word_embeddings": tied,
        },
        vision_config={**_VISION[size], "out_hidden_size": text["hidden_size"]},
        audio_config={**_AUDIO[size], "output_dim": text["hidden_size"]},
    )


def write_random_checkpoint(folder: Path, size: Size = "tiny", seed: int = 0, dtype: str | None = None) -> Path:
    """Write a checkpoint folder: configuration, weights, tokenizer (nano's) and processor.

    Args:
        folder: Created where it does not exist; files in it are overwritten.
        size: `tiny` or `8b`. The latter is written tensor by tensor and never held as a whole.
        seed: Of the weights.
        dtype: Of the weights; float32 for `tiny` and bfloat16 for `8b` where not given.

    Returns:
        `folder`.

    Raises:
        ValueError: The size is not known.
    """
    if size not in _TEXT:
        raise ValueError(f"size {size!r} is not known; choose one of {', '.join(sorted(_TEXT))}")
    dtype = dtype or DEFAULT_DTYPES[size]
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = run_tokenizer(checkpoint_path("bf16"))
    rows = embedding_rows(tokenizer) if size == "tiny" else QWEN_EMBEDDING_ROWS
    token_ids = special_token_ids(tokenizer)
    config = random_config(size, rows, token_ids, dtype)
    tokenizer.save(str(folder / TOKENIZER_FILE))
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config(), indent=2), encoding="utf-8")
    generation = {
        "do_sample": False,
        "eos_token_id": [token_ids["<|im_end|>"], token_ids["<|endoftext|>"]],
        "pad_token_id": token_ids["<|endoftext|>"],
    }
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=2), encoding="utf-8")
    config.save_pretrained(folder)
    build_processor(folder, *_IMAGE_PIXELS[size]).save_pretrained(folder)
    _write_weights(folder, config, seed, dtype)
    return folder


def build_processor(tokenizer_folder: Path, least: int, most: int) -> Any:
    """A processor with the tokenizer of a folder.

    Args:
        tokenizer_folder: Holds the tokenizer's files.
        least: Fewest pixels of an image; and, for a video, of a frame group times the groups.
        most: Most pixels of an image; a video has up to 768 times as many in all.
    """
    from transformers import AutoTokenizer, Qwen2VLImageProcessor, Qwen3VLVideoProcessor, WhisperFeatureExtractor

    from .processing import TLiveOmniProcessor

    grid = {
        "patch_size": 16,
        "temporal_patch_size": 2,
        "merge_size": 2,
        "image_mean": [0.5] * 3,
        "image_std": [0.5] * 3,
    }
    images = Qwen2VLImageProcessor(size={"shortest_edge": least, "longest_edge": most}, **grid)
    videos = Qwen3VLVideoProcessor(
        size={"shortest_edge": least, "longest_edge": 768 * most}, fps=1, cap_pixels_per_frame=False, **grid
    )
    features = WhisperFeatureExtractor(feature_size=128, sampling_rate=SAMPLING_RATE)
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
    return TLiveOmniProcessor(images, features, tokenizer, videos, chat_template=CHAT_TEMPLATE)


def random_weight(name: str, shape: tuple[int, ...], seed: int, is_norm: bool) -> NDArray[np.float32]:
    """Values of one tensor, that depend on nothing but the arguments.

    Matrices keep the spread of what goes through them, so that no path is drowned by another: towers, aligners and
    every level of either DeepStack move what the model says.

    Args:
        name: Of the tensor in the checkpoint.
        shape: Of the tensor.
        seed: Of the checkpoint.
        is_norm: Whether it is the weight of a norm.
    """
    generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
    values: NDArray[np.float32] = generator.standard_normal(shape, dtype=np.float32)
    if is_norm:
        values *= np.float32(0.1)
        values += 1
    elif len(shape) == 1:
        values *= np.float32(0.1)
    else:
        spread = SPREAD_OF_LOGITS if name.endswith(("embed_tokens.weight", "lm_head.weight")) else 1.0
        values *= np.float32(spread / np.sqrt(np.prod(shape[1:])))
    return values


def _write_weights(folder: Path, config: TLiveOmniConfig, seed: int, dtype: str) -> None:
    import torch
    from safetensors.torch import save_file

    torch_dtype = getattr(torch, dtype)
    weight_map: dict[str, str] = {}
    shards = list(_shards(config, torch_dtype.itemsize))
    for number, shard in enumerate(shards, start=1):
        file = "model.safetensors" if len(shards) == 1 else f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        tensors = {
            name: torch.from_numpy(random_weight(name, shape, seed, is_norm)).to(torch_dtype)
            for name, shape, is_norm in shard
        }
        save_file(tensors, folder / file, metadata={"format": "pt"})
        weight_map |= dict.fromkeys(tensors, file)
    if len(shards) > 1:
        index = {"metadata": {}, "weight_map": weight_map}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2), encoding="utf-8")


def _shards(config: TLiveOmniConfig, itemsize: int) -> Iterator[list[tuple[str, tuple[int, ...], bool]]]:
    import torch

    from .modeling import TLiveOmniForConditionalGeneration

    with torch.device("meta"):
        model = TLiveOmniForConditionalGeneration(config)
    shard: list[tuple[str, tuple[int, ...], bool]] = []
    held = 0
    # Tied weights are named once here, by the embedding.
    for name, parameter in model.named_parameters():
        size = parameter.numel() * itemsize
        if shard and held + size > SHARD_BYTES:
            yield shard
            shard, held = [], 0
        is_norm = name.endswith("weight") and parameter.ndim == 1
        shard.append((name, tuple(parameter.shape), is_norm))
        held += size
    yield shard
