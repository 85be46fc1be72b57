"""TLiveOmni becomes known to transformers' Auto classes, so that a local folder loads without `trust_remote_code`."""

from __future__ import annotations


def register_processing() -> None:
    """Register configuration and processor alone, which vLLM needs; the model's modules are slow to import.

    Not registered, `AutoProcessor` would silently return a tokenizer for a TLiveOmni checkpoint.
    """
    from transformers import AutoConfig, AutoProcessor

    from .configuration import MODEL_TYPE, TLiveOmniConfig
    from .processing import TLiveOmniProcessor

    AutoConfig.register(MODEL_TYPE, TLiveOmniConfig, exist_ok=True)
    AutoProcessor.register(TLiveOmniConfig, TLiveOmniProcessor, exist_ok=True)


def register() -> None:
    """Register configuration, model and processor; calling it again changes nothing."""
    from transformers import AutoModel, AutoModelForImageTextToText, AutoModelForMultimodalLM

    from .configuration import TLiveOmniConfig
    from .modeling import TLiveOmniForConditionalGeneration, TLiveOmniModel

    register_processing()
    AutoModel.register(TLiveOmniConfig, TLiveOmniModel, exist_ok=True)
    for auto_class in (AutoModelForImageTextToText, AutoModelForMultimodalLM):
        auto_class.register(TLiveOmniConfig, TLiveOmniForConditionalGeneration, exist_ok=True)
