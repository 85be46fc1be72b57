"""Public benchmarks in their official formats, read from a local folder; images are decoded when they are asked for."""
