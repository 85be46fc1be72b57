"""Finding the checkpoint to load, and what its configuration says it can take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.nano.embedded_checkpoints import checkpoint_path

DEFAULT_VARIANT = "bf16"


@dataclass(frozen=True, slots=True)
class LocatedCheckpoint:
    """A checkpoint that is on this machine.

    Attributes:
        name: What the user asked for: a folder, a hub name, or `tliveomni-nano`.
        variant: Precision by name; empty where the user named none for a checkpoint of their own.
        folder: Where its files lie.
        architecture: First entry of `architectures` in its `config.json`.
        max_model_len: Context it was made for, in tokens; None where its configuration does not say.
        media_kinds: Kinds of media it takes: a subset of image, video, audio.
    """

    name: str
    variant: str
    folder: Path
    architecture: str
    max_model_len: int | None
    media_kinds: frozenset[str]


def locate_checkpoint(model: str, variant: str) -> LocatedCheckpoint:
    """Find a checkpoint.

    Args:
        model: A folder or hub name; empty for the embedded TLiveOmni-nano.
        variant: Which embedded checkpoint; a mere label with a `model`.

    Raises:
        UserError: There is no such checkpoint, or its `config.json` cannot be read.
    """
    if model:
        folder = _folder_of(model)
    else:
        variant = variant or DEFAULT_VARIANT
        folder = checkpoint_path(variant)
    config = _read_config(folder)
    text_config = _text_config(config)
    return LocatedCheckpoint(
        name=model or "tliveomni-nano",
        variant=variant,
        folder=folder,
        architecture=str((config.get("architectures") or ["unknown"])[0]),
        max_model_len=text_config.get("max_position_embeddings"),
        media_kinds=_media_kinds(config.get("thinker_config", config)),
    )


def _folder_of(model: str) -> Path:
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_absolute() or model.startswith((".", "~")) or model.count("/") != 1:
        raise UserError(
            f"model={model!r}: there is no such checkpoint folder; give a folder that holds config.json, or a hub name"
        )
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(model))
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UserError(
            f"model={model!r} is not a folder here, and the hub does not give it ({reason}); "
            "give a local folder, or leave `model` out to use the embedded TLiveOmni-nano"
        ) from None


def _read_config(folder: Path) -> Mapping[str, Any]:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(
            f"{folder} holds no config.json, so it is not a checkpoint; give the folder that has it"
        ) from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as JSON ({error})") from None
    if not isinstance(config, dict):
        raise UserError(f"{path}: must hold a JSON object")
    return config


def _text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    inner: Mapping[str, Any] = config.get("thinker_config", config)
    text_config: Mapping[str, Any] = inner.get("text_config", inner)
    return text_config


def _media_kinds(config: Mapping[str, Any]) -> frozenset[str]:
    kinds = set()
    if "vision_config" in config:
        kinds |= {"image", "video"}
    if "audio_config" in config:
        kinds.add("audio")
    return frozenset(kinds)
