"""`live_diarization`: who says what and when in a live stream."""
