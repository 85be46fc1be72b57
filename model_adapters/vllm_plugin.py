"""Entry point `vllm.general_plugins`: vLLM calls it in every process it starts, before it resolves an architecture."""

from __future__ import annotations

import faulthandler
import signal

_MODEL = "tliveomni_eval.model_adapters.tliveomni_vllm.model:TLiveOmniForConditionalGeneration"
_STANDARD_ERROR = 2


def register() -> None:
    """Register what vLLM does not know by itself; checkpoints with a stock architecture need nothing.

    TLiveOmni becomes known by the name that its `config.json` gives: its configuration and processor to transformers'
    Auto classes, its model to vLLM, which imports it when a checkpoint asks for it. On CPUs without AVX-512 a kernel
    for 4-bit weights is added, see `quantization.unpacking_kernel`.
    """
    # A run whose engine hangs asks for the stacks of all its processes before it ends them.
    faulthandler.register(signal.SIGUSR2, file=_STANDARD_ERROR, all_threads=True)
    from tliveomni_eval.model_adapters.tliveomni.registration import register_processing
    from vllm import ModelRegistry
    from vllm.platforms import current_platform

    register_processing()
    ModelRegistry.register_model("TLiveOmniForConditionalGeneration", _MODEL)
    if current_platform.is_cpu():
        from tliveomni_eval.model_adapters.quantization.unpacking_kernel import register_unpacking_kernel

        register_unpacking_kernel()
