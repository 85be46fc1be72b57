"""The vLLM backend behind `--model tliveomni_vllm`."""
