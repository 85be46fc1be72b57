"""What a checkpoint may do to this machine: no code of its own runs, by pickle or by Python file, unless asked for."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tliveomni_eval.evals.errors import UserError

_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
_SAFE = (".safetensors", ".gguf")
_NO_WEIGHTS = ("training_args", "optimizer", "scheduler", "rng_state", "scaler")
"""Pickles that trainers leave beside the weights and that no engine opens."""

_PICKLE_FORMATS = ("pt", "npcache")
"""Values of vLLM's `load_format` that unpickle."""


def check_weights(folder: Path, allow_pickle: bool, load_format: str | None = None) -> None:
    """Refuse weights that are pickles: loading one runs whatever program it holds.

    Where safetensors lie beside pickles the engine reads the safetensors, so only the lack of them is refused.

    Args:
        folder: The checkpoint.
        allow_pickle: Whether the user asked for pickles.
        load_format: vLLM's `load_format` where the user set one.

    Raises:
        UserError: The weights are pickles, or would be read as such, and the user did not ask for it.
    """
    if allow_pickle:
        return
    if load_format in _PICKLE_FORMATS:
        raise UserError(
            f"--model_args: engine_args: load_format={load_format!r} unpickles weights, which runs what they hold; "
            "leave it out, or add allow_pickle=true if you trust the checkpoint"
        )
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith(_NO_WEIGHTS))
    pickles = [name for name in names if name.lower().endswith(_PICKLES)]
    if pickles and not any(name.lower().endswith(_SAFE) for name in names):
        raise UserError(
            f"{folder}: its weights are pickles ({', '.join(pickles[:3])}), and loading one runs whatever it holds; "
            "convert them to safetensors, or add allow_pickle=true to --model_args if you trust the checkpoint"
        )


def remote_code_digest(folder: Path) -> str:
    """SHA-256 over the Python files of a checkpoint: where they run, they determine the output as weights do.

    Args:
        folder: The checkpoint.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def untrusted_code_message(folder: Path, error: Exception) -> str:
    """What to tell a user whose checkpoint would run Python code of its own; empty where the error is another one."""
    if "trust_remote_code" not in str(error):
        return ""
    return (
        f"{folder}: the checkpoint asks to run Python files of its own; read them, and add trust_remote_code=true to "
        "--model_args if you trust them (run.json records it)"
    )
