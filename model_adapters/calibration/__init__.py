"""From manifests of any size to the samples that a quantized model is calibrated on."""
