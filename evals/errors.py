"""The one exception a user is meant to read."""

from __future__ import annotations


class UserError(Exception):
    """Something the user can mend; the message says what was wrong, quotes it, names the place and says what to do.

    `tlive` prints the message without a traceback and ends with `exit_status`.

    Args:
        message: The whole text for the user.
        exit_status: Exit status of the process, never 0.
    """

    def __init__(self, message: str, exit_status: int = 1) -> None:
        if exit_status == 0:
            raise ValueError("exit_status of a UserError must not be 0")
        super().__init__(message)
        self.exit_status = exit_status


def nearest_name(wrong: str, known: list[str] | tuple[str, ...]) -> str | None:
    """The known name that a mistyped one most likely meant, or None where none is near.

    Args:
        wrong: What the user wrote.
        known: Names that would have been accepted.
    """
    from difflib import get_close_matches

    matches = get_close_matches(wrong, known, n=1, cutoff=0.55)
    return matches[0] if matches else None


def unknown_name_message(kind: str, wrong: str, known: list[str] | tuple[str, ...]) -> str:
    """A sentence that quotes an unknown name, suggests the nearest known one and lists all.

    Args:
        kind: What the name stands for, e.g. `variant`.
        wrong: What the user wrote.
        known: Names that would have been accepted.
    """
    near = nearest_name(wrong, known)
    suggestion = f" Did you mean {near!r}?" if near else ""
    return f"unknown {kind} {wrong!r}.{suggestion} Known: {', '.join(sorted(known))}."
