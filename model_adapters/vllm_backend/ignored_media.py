"""Media that a checkpoint does not take: left out of its prompts, and said loudly once a task."""

from __future__ import annotations

from loguru import logger


class IgnoredMedia:
    """Which kinds of media were left out of the prompts of which task.

    Args:
        checkpoint: Name of the checkpoint.
        taken: Kinds of media it takes.
    """

    def __init__(self, checkpoint: str, taken: frozenset[str]) -> None:
        self._checkpoint = checkpoint
        self._taken = ", ".join(sorted(taken)) or "text only"
        self._kinds: dict[str, frozenset[str]] = {}

    @property
    def by_task(self) -> dict[str, list[str]]:
        """Task to the kinds that its prompts lack; a task that lacks none is not in it."""
        return {task: sorted(kinds) for task, kinds in self._kinds.items()}

    def note(self, task: str, kinds: frozenset[str]) -> None:
        """Remember what a prompt of a task lacks, and warn where it is new for the task."""
        known = self._kinds.get(task, frozenset())
        if kinds <= known:
            return
        self._kinds[task] = known | kinds
        lacking = " and ".join(sorted(kinds - known))
        logger.warning(
            f"{task}: checkpoint {self._checkpoint} takes {self._taken}, so the {lacking} of this task is LEFT OUT of "
            f"its prompts and the answers are given without it. Its scores say nothing about {lacking}: choose a "
            f"checkpoint that takes {lacking}, or leave the task out"
        )
