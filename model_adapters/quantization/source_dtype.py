"""Gives the tensors that a quantized checkpoint shares with its source their 16-bit type back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def restore_source_dtype(folder: Path, source: Path) -> None:
    """Casts a saved checkpoint's unquantized tensors to the type they have in the source.

    Quantizing in float32 leaves norms, embeddings and 16-bit parts in float32, twice as large as in the source. Integer
    and FP8 weights are no float32; scales, which the source lacks, stay as they are: rounding one would move every
    weight under it.

    Args:
        folder: Checkpoint folder that transformers saved; its weights and `config.json` are rewritten.
        source: Checkpoint folder that it was quantized from.
    """
    import torch
    from safetensors.torch import load_file, save_file

    dtypes = _tensor_dtypes(source)
    for file in sorted(folder.glob("*.safetensors")):
        tensors = load_file(file)
        for name, tensor in tensors.items():
            if tensor.dtype == torch.float32 and name in dtypes:
                tensors[name] = tensor.to(dtypes[name])
        save_file(tensors, file, metadata={"format": "pt"})
    source_config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config_file = folder / "config.json"
    config = json.loads(config_file.read_text(encoding="utf-8"))
    _copy_dtype(source_config, config)
    config_file.write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _tensor_dtypes(folder: Path) -> dict[str, Any]:
    from safetensors import safe_open

    dtypes = {}
    for file in folder.glob("*.safetensors"):
        with safe_open(file, framework="pt") as weights:
            for name in weights.keys():  # noqa: SIM118  (safe_open is no mapping)
                # A slice of no rows tells the type without reading the tensor; a scalar has no rows and is read.
                part = weights.get_slice(name)
                dtypes[name] = (part[:0] if part.get_shape() else weights.get_tensor(name)).dtype
    return dtypes


def _copy_dtype(source: dict[str, Any], target: dict[str, Any]) -> None:
    for key in ("dtype", "torch_dtype"):
        target.pop(key, None)
        if key in source:
            target[key] = source[key]
    for key, section in target.items():
        if isinstance(section, dict) and key != "quantization_config":
            _copy_dtype(source.get(key, {}), section)
