"""`RUN/canaries.json`: what the canaries of a run found, found again where nothing changed that decides it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from tliveomni_eval.evals.canaries.canary_result import CanaryResult
from tliveomni_eval.model_adapters.canaries.sentinels import Sentinel

CANARIES_NAME = "canaries.json"
VERSION = 1
"""Of what the canaries do: results of another version are not taken over."""


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid")

    key: str
    results: list[CanaryResult]


def canary_key(identity: Any, sentinels: Sequence[Sentinel]) -> str:
    """SHA-256 over what decides the results: checkpoint and engine, and the sentinels with their answers.

    Args:
        identity: Fingerprint of the checkpoint and the engine arguments that matter; JSON.
        sentinels: The sentinels.
    """
    asked = [
        (one.task, one.document, one.prompt_hash, dict(one.decoding), one.answer, one.input_tokens) for one in sentinels
    ]
    return hashlib.sha256(json.dumps([VERSION, identity, asked], sort_keys=True, default=str).encode()).hexdigest()


def known_results(folder: Path, key: str) -> list[CanaryResult] | None:
    """Results of an earlier run into the same folder; None where there are none of this key."""
    try:
        content = _Content.model_validate_json((folder / CANARIES_NAME).read_bytes())
    except (OSError, ValidationError):
        return None
    return content.results if content.key == key else None


def keep_results(folder: Path, key: str, results: list[CanaryResult]) -> None:
    """Write results in one step."""
    path = folder / CANARIES_NAME
    unfinished = path.with_name(f".{CANARIES_NAME}.{os.getpid()}")
    unfinished.write_text(_Content(key=key, results=results).model_dump_json(indent=2) + "\n", encoding="utf-8")
    unfinished.replace(path)
