"""Whether a checkpoint takes the media of a task: said before any sample runs, not found out from its scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lmms_eval.api.instance import Instance
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.checkpoint import LocatedCheckpoint
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import media_parts

KINDS = frozenset({"image", "video", "audio"})


class MediaAcceptance:
    """Refuses tasks whose media a checkpoint does not take, where they are not to be left out of the prompts.

    Args:
        checkpoint: What is to answer.
        leave_out: Whether the prompts may lack them.
    """

    def __init__(self, checkpoint: LocatedCheckpoint, leave_out: bool) -> None:
        self._checkpoint = checkpoint
        self._leave_out = leave_out

    def check(self, task: str, document: int, kinds: Iterable[str]) -> None:
        """Check the media of one document.

        Args:
            task: Its task.
            document: Its number.
            kinds: Kinds of media that it holds.

        Raises:
            UserError: One of them is not taken, and may not be left out.
        """
        lacking = (KINDS & set(kinds)) - self._checkpoint.media_kinds
        if self._leave_out or not lacking:
            return
        names = " and ".join(sorted(lacking))
        takes = ", ".join(sorted(self._checkpoint.media_kinds)) or "text only"
        raise UserError(
            f"task {task}, document {document} holds {names}, and checkpoint {self._checkpoint.name} "
            f"({self._checkpoint.architecture}) takes {takes}; leave the task out, choose a checkpoint that takes "
            f"{names}, or give --model_args media_not_taken=leave_out to have it answered without"
        )

    def check_all(
        self,
        requests: Iterable[Instance],
        document_of: Callable[[Instance], Mapping[str, Any]],
        messages_of: Callable[[Instance], Any],
    ) -> None:
        """Check the media of all requests before any of them is answered.

        Documents of our own tasks name their media. Of another task one document is looked at, since the messages of
        all would decode every image twice; where a later one differs, `check` ends the run when its turn comes.

        Args:
            requests: What is to be answered.
            document_of: Gives the document of a request.
            messages_of: Gives its chat messages.

        Raises:
            UserError: Media of one are not taken, and may not be left out.
        """
        if self._leave_out:
            return
        looked_at: set[str] = set()
        for request in requests:
            _, _, _, number, task, _ = request.args
            named = _named_kinds(document_of(request))
            if named is not None:
                self.check(task, number, named)
            elif task not in looked_at:
                self.check(task, number, {part["type"] for part in media_parts(messages_of(request))})
            looked_at.add(task)


def _named_kinds(document: Mapping[str, Any]) -> set[str] | None:
    """Kinds that a document's column `media` names; None where it has no such column."""
    media = document.get("media")
    if not isinstance(media, list) or not all(isinstance(medium, Mapping) and "type" in medium for medium in media):
        return None
    return {str(medium["type"]) for medium in media}
