"""What a run's canaries found, decided from answers and counts: pure functions over small values."""
