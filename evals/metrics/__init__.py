"""Metrics, one ability a file."""
