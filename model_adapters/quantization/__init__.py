"""Quantization recipes."""
