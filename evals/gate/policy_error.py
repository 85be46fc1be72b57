"""The error of a policy that cannot be used."""

from __future__ import annotations

from tliveomni_eval.evals.errors import UserError

USAGE_ERROR_STATUS = 64


class PolicyError(UserError):
    """A policy that is wrong or does not fit the runs; the message names the file, the line and the key."""

    def __init__(self, message: str) -> None:
        super().__init__(message, USAGE_ERROR_STATUS)
