"""The run store and the per-slice regression dashboard."""
