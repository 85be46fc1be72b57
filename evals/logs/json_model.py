"""Reading one JSON file into a pydantic model, with a message that names file and field."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError
from tliveomni_eval.evals.logs.log_error import LogError

Model = TypeVar("Model", bound=BaseModel)

_LARGEST: Final = 16 * 2**20


def read_json_model(path: Path, model: type[Model]) -> Model:
    """Read a file of at most 16 MiB.

    Args:
        path: The file.
        model: What it holds.

    Raises:
        LogError: It is unreadable, too large, no JSON, or not such a model.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise LogError(f"larger than {_LARGEST >> 20} MiB, which no {path.name} is", path)
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise LogError(f"cannot be read: {error.strerror}", path) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise LogError(f"{where}: {first['msg']} (got {str(first['input'])[:80]!r})", path) from error
