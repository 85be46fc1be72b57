"""Paired, clustered inference on sums of sufficient statistics."""
