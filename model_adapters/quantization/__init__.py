"""From a 16-bit checkpoint to quantized ones: recipes, calibration samples, and the run of llm-compressor."""
