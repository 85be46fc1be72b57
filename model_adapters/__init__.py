"""lmms-eval model classes, the TLiveOmni models, quantization recipes and serving measurements."""
