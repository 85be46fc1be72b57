"""Canaries: a few dozen requests beside a run that show whether it measures what it claims."""
