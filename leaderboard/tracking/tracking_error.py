"""What a user of an experiment tracker can mend."""

from __future__ import annotations

from tliveomni_eval.evals.errors import UserError


class TrackingError(UserError):
    """A tracker that is not installed, cannot be reached, or refused a run."""


def not_installed(library: str) -> TrackingError:
    """The error of a library that is missing."""
    return TrackingError(f"{library} is not installed: pip install 'tliveomni-eval[tracking]' installs it")
