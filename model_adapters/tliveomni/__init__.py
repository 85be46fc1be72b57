"""TLiveOmni for transformers: configuration, model and processor; the reference that the vLLM side agrees with."""
