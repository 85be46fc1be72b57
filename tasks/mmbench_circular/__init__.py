"""`mmbench_circular_*`: multiple choice under every rotation of the options."""
