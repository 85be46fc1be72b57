"""`live_chart`: a value read off a bar, line or pie chart."""
