"""Composed product scenes with a question about where something is, and exact boxes."""
