"""Serving figures: workloads, load, and what is measured of them."""
