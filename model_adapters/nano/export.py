"""Writes a checkpoint folder that transformers' `AutoProcessor` and vLLM load as a stock Qwen3-VL.

`python -m tliveomni_eval.model_adapters.nano.export --random-init OUT` writes untrained weights;
`--state FOLDER` writes the averaged weights and the tokenizer that a training run left in `FOLDER`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from .architecture import (
    MAX_PIXELS,
    MERGE_SIZE,
    MIN_PIXELS,
    PATCH_SIZE,
    TEMPORAL_PATCH_SIZE,
    NanoDimensions,
    build_config,
    build_model,
    parameter_counts,
)
from .build_tokenizer import (
    TOKENIZER_FILE,
    chat_template,
    default_tokenizer,
    embedding_rows,
    run_tokenizer,
    special_token_ids,
    tokenizer_config,
)

_IMAGE_PROCESSING = {
    "patch_size": PATCH_SIZE,
    "temporal_patch_size": TEMPORAL_PATCH_SIZE,
    "merge_size": MERGE_SIZE,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "do_resize": True,
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "do_convert_rgb": True,
}


_EMPTY_KEYS = (
    "_name_or_path",
    "chunk_size_feed_forward",
    "id2label",
    "is_encoder_decoder",
    "label2id",
    "output_attentions",
    "output_hidden_states",
    "problem_type",
    "return_dict",
)


def image_preprocessor_config() -> dict[str, Any]:
    """`preprocessor_config.json`: patches of 16, merged 2 × 2, pixels scaled to -1..1, no resize inside the limits."""
    return {
        "image_processor_type": "Qwen2VLImageProcessor",
        "processor_class": "Qwen3VLProcessor",
        "size": {"shortest_edge": MIN_PIXELS, "longest_edge": MAX_PIXELS},
        "resample": 3,
        **_IMAGE_PROCESSING,
    }


def video_preprocessor_config() -> dict[str, Any]:
    """`video_preprocessor_config.json`: the image settings, one frame a second; limits are for the whole video."""
    return {
        "video_processor_type": "Qwen3VLVideoProcessor",
        "processor_class": "Qwen3VLProcessor",
        "size": {"shortest_edge": MIN_PIXELS, "longest_edge": 32 * MAX_PIXELS},
        "resample": 3,
        "fps": 1,
        "min_frames": 2,
        "max_frames": 768,
        "do_sample_frames": True,
        **_IMAGE_PROCESSING,
    }


def write_json(path: Path, value: Any) -> None:
    """Writes JSON with sorted layout kept as given, UTF-8, ending in a newline."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def export_checkpoint(model: Any, tokenizer: Any, folder: Path) -> None:
    """Writes the full checkpoint in bfloat16: weights, configuration, tokenizer, processors and chat template.

    Args:
        model: A `Qwen3VLForConditionalGeneration`; left unchanged.
        tokenizer: The `tokenizers.Tokenizer` it was trained with.
        folder: Where to write; made if missing, files of the same names are replaced.
    """
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / TOKENIZER_FILE))
    write_json(folder / "tokenizer_config.json", tokenizer_config())
    (folder / "chat_template.jinja").write_text(chat_template(), encoding="utf-8")
    write_json(folder / "chat_template.json", {"chat_template": chat_template()})
    write_json(folder / "preprocessor_config.json", image_preprocessor_config())
    write_json(folder / "video_preprocessor_config.json", video_preprocessor_config())

    tied = bool(model.config.tie_word_embeddings)
    weights = {
        name: tensor.detach().to("cpu", torch.bfloat16).contiguous()
        for name, tensor in model.state_dict().items()
        if not (tied and name == "lm_head.weight")
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)

    write_json(folder / "config.json", _published_config(model.config))
    ids = special_token_ids(tokenizer)
    write_json(
        folder / "generation_config.json",
        {
            "do_sample": False,
            "eos_token_id": [ids["<|im_end|>"], ids["<|endoftext|>"]],
            "pad_token_id": ids["<|endoftext|>"],
        },
    )


def _published_config(config: Any) -> dict[str, Any]:
    """The configuration as JSON values, in bfloat16, without keys that say nothing about this model."""
    values: dict[str, Any] = config.to_dict()
    for section in (values, values["text_config"], values["vision_config"]):
        for key in _EMPTY_KEYS:
            section.pop(key, None)
        section["dtype"] = "bfloat16"
    for section in (values["text_config"], values["vision_config"]):
        section.pop("architectures", None)
    return values


def load_training_state(model: Any, folder: Path) -> None:
    """Loads the weights of a training run's state folder (`weights-*.safetensors` shards) into the model.

    Raises:
        FileNotFoundError: If the folder holds no shard.
        ValueError: If the shards do not hold exactly the model's weights.
    """
    from safetensors.torch import load_file

    shards = sorted(folder.glob("weights-*.safetensors"))
    if not shards:
        raise FileNotFoundError(f"{folder} holds no weights-*.safetensors; give the folder a training run wrote")
    state: dict[str, Any] = {}
    for shard in shards:
        state |= load_file(shard)
    if model.config.tie_word_embeddings:
        state.setdefault("lm_head.weight", state["model.language_model.embed_tokens.weight"])
    expected = set(model.state_dict())
    if set(state) != expected:
        odd = sorted(set(state) ^ expected)
        raise ValueError(f"{folder}: {len(odd)} weights differ from the model's, the first is {odd[0]!r}")
    model.load_state_dict(state)


def untrained_model(dimensions: NanoDimensions, tokenizer: Any, seed: int = 0) -> Any:
    """A randomly initialised nano for a tokenizer."""
    return build_model(build_config(dimensions, embedding_rows(tokenizer), special_token_ids(tokenizer)), seed)


def main() -> None:
    """Command line of the export."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--random-init", action="store_true", help="untrained weights")
    source.add_argument("--state", type=Path, help="folder with the weights-*.safetensors of a training run")
    parser.add_argument("--seed", type=int, default=0, help="of the untrained weights")
    parser.add_argument("out", type=Path, help="checkpoint folder to write")
    arguments = parser.parse_args()
    tokenizer = default_tokenizer() if arguments.state is None else run_tokenizer(arguments.state)
    model = untrained_model(NanoDimensions(), tokenizer, arguments.seed)
    if arguments.state is not None:
        load_training_state(model, arguments.state)
    export_checkpoint(model, tokenizer, arguments.out)
    counts = ", ".join(f"{part} {count / 1e6:.2f} M" for part, count in parameter_counts(model).items())
    print(f"{arguments.out}: {counts}")


if __name__ == "__main__":
    main()
