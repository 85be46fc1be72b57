"""Entry point `vllm.general_plugins`: vLLM calls it in every process it starts, before it resolves an architecture."""

from __future__ import annotations


def register() -> None:
    """Register what vLLM does not know by itself; checkpoints with a stock architecture need nothing."""
