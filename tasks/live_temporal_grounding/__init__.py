"""`live_temporal_grounding`: when in a live stream something is shown, said or both."""
