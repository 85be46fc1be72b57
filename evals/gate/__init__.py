"""The release gate: policy, comparability, verdicts and their renderings."""
