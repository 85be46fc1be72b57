"""A plugin of vLLM that lets the engine fail over one request, as `TLIVE_FAULT=KIND:REQUEST` says."""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path
from typing import Any, NoReturn

KINDS = ("raise", "abort", "segfault", "hang", "hang holding the interpreter", "raise on entry")
VARIABLE = "TLIVE_FAULT"


def register() -> None:
    """Called by vLLM in each process that has an engine."""
    kind, _, poisoned = os.environ.get(VARIABLE, "").partition(":")
    if not kind:
        return
    from vllm.v1.engine.llm_engine import LLMEngine

    add_request, step = LLMEngine.add_request, LLMEngine.step
    inside: set[str] = set()

    def faulty_add_request(self: Any, request_id: str, *arguments: Any, **named: Any) -> Any:
        if kind == "raise on entry" and request_id == poisoned:
            raise RuntimeError("planted")
        inside.add(request_id)
        return add_request(self, request_id, *arguments, **named)

    def faulty_step(self: Any) -> Any:
        if poisoned in inside:
            _fail(kind)
        return step(self)

    LLMEngine.add_request, LLMEngine.step = faulty_add_request, faulty_step


def _fail(kind: str) -> NoReturn:
    if kind == "raise":
        raise RuntimeError("planted")
    if kind == "abort":
        os.abort()
    if kind == "segfault":
        ctypes.string_at(0)
    if kind == "hang":
        time.sleep(1e6)
    if kind == "hang holding the interpreter":
        ctypes.PyDLL(None).sleep(10**6)
    raise AssertionError(f"{VARIABLE}: {kind!r} is none of {KINDS}")


def install(folder: Path) -> Path:
    """Make a folder that plants this plugin where it stands in `PYTHONPATH`.

    Args:
        folder: Where to make it.
    """
    facts = folder / "faulty_engine-1.dist-info"
    facts.mkdir(parents=True, exist_ok=True)
    (folder / "faulty_engine.py").write_bytes(Path(__file__).read_bytes())
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty-engine\nVersion: 1\n")
    (facts / "entry_points.txt").write_text("[vllm.general_plugins]\nfaulty = faulty_engine:register\n")
    return folder
