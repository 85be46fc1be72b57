"""Readers of evaluation logs: lmms-eval, run folders, lm-eval-harness."""
