"""The one error that every reader of logs raises: what is wrong, in which file, on which line."""

from __future__ import annotations

from pathlib import Path

from tliveomni_eval.evals.errors import UserError

NOT_COMPARABLE_STATUS = 3
"""Exit status of `tlive` for a log that is absent or cannot be trusted."""


class LogError(UserError):
    """A log that cannot be trusted.

    Attributes:
        reason: What is wrong, with the value quoted.
        path: The file or folder.
        line: Line number from 1; None where the whole file is meant.
    """

    def __init__(self, reason: str, path: Path, line: int | None = None) -> None:
        self.reason = reason
        self.path = path
        self.line = line
        place = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{place}: {reason}", NOT_COMPARABLE_STATUS)
