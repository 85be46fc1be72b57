"""What a user of the run store can mend."""

from __future__ import annotations

from tliveomni_eval.evals.errors import UserError


class StoreError(UserError):
    """A store that cannot be opened or written, or a run that is not in it."""
