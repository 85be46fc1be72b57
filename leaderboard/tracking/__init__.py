"""Runs for an experiment tracker, through the tracker's own library."""
