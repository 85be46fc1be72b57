"""Tasks for lmms-eval, the data manifest and the embedded data."""
