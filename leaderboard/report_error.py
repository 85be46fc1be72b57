"""What a user of `tlive report` can mend."""

from __future__ import annotations

from tliveomni_eval.evals.errors import UserError


class ReportError(UserError):
    """Runs that cannot be reported, or a page that cannot be written."""
