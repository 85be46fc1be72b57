"""Public benchmarks in their official formats: read from a local folder, images decoded only when they are asked for."""
