"""Procedural product pictures: what stands on the table of a composed scene or stream."""
