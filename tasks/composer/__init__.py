"""Generators of live-stream samples with exact ground truth."""
