"""Names of our lmms-eval models, in one place that imports nothing."""

from __future__ import annotations

MODELS: dict[str, tuple[str, str]] = {
    "tliveomni_vllm": (
        "tliveomni_eval.model_adapters.vllm_backend.adapter.TLiveOmniVLLM",
        "vLLM in this process: TLiveOmni and any Qwen3-VL-family checkpoint, 16-bit or quantized",
    ),
    "tliveomni_hf": (
        "tliveomni_eval.model_adapters.transformers_backend.adapter.TLiveOmniHF",
        "transformers in this process, one sample at a time: the reference that vLLM is held against",
    ),
    "tliveomni_server": (
        "tliveomni_eval.model_adapters.server_backend.adapter.TLiveOmniServer",
        "an OpenAI-compatible server that already runs, e.g. `vllm serve`",
    ),
}
"""Name of a model: the class lmms-eval loads, and what it is."""
