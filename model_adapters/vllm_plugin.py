"""Entry point `vllm.general_plugins`: vLLM calls it in every process it starts, before it resolves an architecture."""

from __future__ import annotations


def register() -> None:
    """Register what vLLM does not know by itself; checkpoints with a stock architecture need nothing.

    On CPUs without AVX-512 it adds a kernel for 4-bit weights, see `quantization.unpacking_kernel`.
    """
    from vllm.platforms import current_platform

    if current_platform.is_cpu():
        from tliveomni_eval.model_adapters.quantization.unpacking_kernel import register_unpacking_kernel

        register_unpacking_kernel()
