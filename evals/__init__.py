"""Pure scoring and decisions: sufficient statistics, metrics, slices, paired inference, the release gate."""
