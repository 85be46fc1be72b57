"""A fingerprint of a checkpoint folder: sha256 over config, tokenizer, processor and weights."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tliveomni_eval.evals.logs.run_info import Checkpoint

_SUFFIXES = (".json", ".jinja", ".model", ".txt", ".safetensors", ".bin", ".pt", ".gguf")
"""Files that change an output; a README, a licence or an optimizer state does not count."""

_WITHOUT_EFFECT = (
    "README",
    "LICENSE",
    "LICENCE",
    "NOTICE",
    "requirements",
    "training_args",
    "trainer_state",
    "optimizer",
)


def fingerprint_checkpoint(path: Path) -> Checkpoint:
    """Hashes a checkpoint folder.

    The fingerprint is the sha256 over the lines `sha256  name` of the files sorted by name, the text that `sha256sum`
    prints, so it can be verified without this package.

    Args:
        path: A folder with `config.json` and its weights.

    Returns:
        The checkpoint with one sha256 a file.

    Raises:
        FileNotFoundError: If the folder does not exist or holds no file of a checkpoint.
    """
    if not path.is_dir():
        raise FileNotFoundError(f"checkpoint folder {str(path)!r} does not exist")
    names = sorted(
        file.relative_to(path).as_posix()
        for file in path.rglob("*")
        if file.suffix in _SUFFIXES and file.is_file() and not file.name.startswith((".", *_WITHOUT_EFFECT))
    )
    if not names:
        raise FileNotFoundError(f"checkpoint folder {str(path)!r} holds no config, tokenizer or weights")
    files = {name: _sha256_of_file(path / name) for name in names}
    text = "".join(f"{digest}  {name}\n" for name, digest in files.items())
    return Checkpoint(path=str(path), files=files, fingerprint=hashlib.sha256(text.encode()).hexdigest())


def _sha256_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
