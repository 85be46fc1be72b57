"""How media get onto the page: inside it as `data:` URIs, or copied beside it under the hash of their content."""

from __future__ import annotations

import base64
import hashlib
import shutil
from pathlib import Path
from typing import Literal, Protocol

from tliveomni_eval.leaderboard.media_location import FoundMedium
from tliveomni_eval.leaderboard.task_page_data import MediaItem
from tliveomni_eval.leaderboard.waveform import waveform

MediaChoice = Literal["changed", "all", "none"]
"""Which samples carry their media: those that changed or are wrong in any run, all, or none."""

_NOT_CHOSEN = "left out: only samples that changed or are wrong carry their media (--media all includes the rest)"


class MediaInclusion(Protocol):
    """Turns a found medium into what the page holds."""

    def include(self, medium: FoundMedium, important: bool) -> MediaItem:
        """Includes one medium.

        Args:
            medium: What was found.
            important: Whether its sample changed or is wrong in a run.
        """
        ...


def _left_out(medium: FoundMedium, reason: str) -> MediaItem:
    kind = medium.type.kind if medium.type else "image"
    return MediaItem(kind=kind, name=medium.name, bytes=medium.size, reason=reason)


class EmbeddedMedia:
    """Media as `data:` URIs, up to a number of bytes.

    Args:
        choice: Which samples carry media.
        limit: Bytes of all media together, as they are on disk.
    """

    def __init__(self, choice: MediaChoice, limit: int) -> None:
        self._choice = choice
        self._left = limit
        self.beyond_limit = 0

    def include(self, medium: FoundMedium, important: bool) -> MediaItem:
        """See `MediaInclusion`; callers offer the most important samples first."""
        if medium.type is None:
            return _left_out(medium, medium.reason)
        if self._choice == "none" or (self._choice == "changed" and not important):
            return _left_out(medium, "left out (--media none)" if self._choice == "none" else _NOT_CHOSEN)
        if medium.size > self._left:
            self.beyond_limit += 1
            return _left_out(medium, "left out: the page would grow beyond its limit (a folder as -o has none)")
        content = medium.content
        if content is None:
            assert medium.path is not None
            try:
                content = medium.path.read_bytes()
            except OSError as error:
                return _left_out(medium, f"cannot be read: {error.strerror}")
        self._left -= len(content)
        source = f"data:{medium.type.mime};base64,{base64.b64encode(content).decode('ascii')}"
        return _included(medium, source, content)


class CopiedMedia:
    """Media copied into `folder/media/`, each once, named by content.

    Args:
        choice: Which samples carry media.
        folder: Folder of the page.
    """

    def __init__(self, choice: MediaChoice, folder: Path) -> None:
        self._choice = choice
        self._folder = folder / "media"

    def include(self, medium: FoundMedium, important: bool) -> MediaItem:
        """See `MediaInclusion`."""
        if medium.type is None:
            return _left_out(medium, medium.reason)
        if self._choice == "none" or (self._choice == "changed" and not important):
            return _left_out(medium, "left out (--media none)" if self._choice == "none" else _NOT_CHOSEN)
        try:
            name = f"{_content_hash(medium)}{medium.type.suffix}"
            target = self._folder / name
            if not target.exists():
                self._folder.mkdir(parents=True, exist_ok=True)
                if medium.content is not None:
                    target.write_bytes(medium.content)
                else:
                    assert medium.path is not None
                    shutil.copyfile(medium.path, target)
        except OSError as error:
            return _left_out(medium, f"cannot be copied: {error.strerror}")
        return _included(medium, f"media/{name}", target)


def _included(medium: FoundMedium, source: str, content: Path | bytes) -> MediaItem:
    assert medium.type is not None
    outline = waveform(content) if medium.type.kind == "audio" else None
    return MediaItem(
        kind=medium.type.kind,
        name=medium.name,
        source=source,
        bytes=medium.size,
        peaks=outline.peaks if outline else [],
        duration_s=outline.duration_s if outline else None,
    )


def _content_hash(medium: FoundMedium) -> str:
    if medium.content is not None:
        return hashlib.sha256(medium.content).hexdigest()[:32]
    assert medium.path is not None
    with medium.path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]
