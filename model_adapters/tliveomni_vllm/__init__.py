"""TLiveOmni for vLLM, out of tree: the model, its multimodal processing, the switches of parity with transformers."""
