"""A sentinel with the media of another one in place of its own, under the path where its own lay a moment before.

So an adapter that drops a medium, one that keeps the first it saw, and one that remembers media by their path all show
themselves: the prompt, or the answer, stays the same.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

_ONE_TIME = (1_700_000_000, 1_700_000_000)
"""Access and modification time of every file that is laid at a path: a cache that trusts those is to be met too."""


def media_of(messages: Sequence[Mapping[str, Any]], kind: str) -> list[Any]:
    """Sources of the media of one kind, in order.

    Args:
        messages: lmms-eval chat messages.
        kind: `image`, `audio` or `video`.
    """
    return [part["url"] for message in messages for part in message["content"] if part["type"] == kind]


def content_digest(sources: Sequence[Any]) -> str:
    """SHA-256 over what media hold, read here and not by the adapter under test.

    Args:
        sources: Paths, images, or mappings with an `array`.
    """
    digest = hashlib.sha256()
    for source in sources:
        if isinstance(source, (str, Path)):
            with Path(source).open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        elif isinstance(source, Image.Image):
            digest.update(f"{source.size} {source.mode}".encode())
            digest.update(source.tobytes())
        else:
            digest.update(np.ascontiguousarray(source["array"]).tobytes())
    return digest.hexdigest()


def find_donor(sources: Sequence[Sequence[Any]], place: int) -> int | None:
    """The next sentinel whose media hold something else; None where all hold the same.

    Args:
        sources: Media of each sentinel.
        place: The sentinel that gets other media.
    """
    own = content_digest(sources[place])
    for step in range(1, len(sources)):
        donor = (place + step) % len(sources)
        if content_digest(sources[donor]) != own:
            return donor
    return None


class ExchangePlace:
    """Paths at which media are laid one after the other.

    Args:
        folder: An empty folder for them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def laid(self, messages: Sequence[Mapping[str, Any]], kind: str, sources: Sequence[Any]) -> list[dict[str, Any]]:
        """Messages whose media of one kind are these, each at a path that is the same at every call.

        Media given as arrays stay arrays: they have no path.

        Args:
            messages: Of the sentinel.
            kind: Kind of media to exchange.
            sources: What to put there; repeated where there are fewer than the sentinel has.
        """
        count = 0
        changed = []
        for message in messages:
            content = []
            for part in message["content"]:
                if part["type"] == kind:
                    content.append({**part, "url": self._lay(f"{kind}-{count}", sources[count % len(sources)])})
                    count += 1
                else:
                    content.append(part)
            changed.append({**message, "content": content})
        return changed

    def _lay(self, name: str, source: Any) -> Any:
        path = self._folder / name
        if isinstance(source, (str, Path)):
            shutil.copyfile(source, path)
        elif isinstance(source, Image.Image):
            source.convert("RGB").save(path, format="PNG", compress_level=1)
        else:
            return source
        os.utime(path, _ONE_TIME)
        return str(path)
