"""Text normalisation: versioned, visible, and never a change of a number."""
