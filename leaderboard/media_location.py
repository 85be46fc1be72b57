"""Where the media that a log names are on this machine, never outside the folders that were allowed."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from tliveomni_eval.leaderboard.media_kind import SNIFFED_BYTES, MediaType, sniff

LARGEST_MEDIUM = 512 * 2**20
_MOST_MEDIA_OF_A_SAMPLE = 8
_LONGEST_TAIL = 5


@dataclass(frozen=True, slots=True)
class FoundMedium:
    """One medium of a sample.

    Attributes:
        name: File name for the reader.
        path: The file; None where it is not there or not allowed, or came inside the log.
        content: The bytes, where they came inside the log.
        type: Its type; None where there is nothing to show.
        size: Size in bytes; 0 where unknown.
        reason: Why there is nothing to show; empty otherwise.
        digest: Hash of its content, where a store knows it; empty otherwise.
    """

    name: str
    path: Path | None = None
    content: bytes | None = None
    type: MediaType | None = None
    size: int = 0
    reason: str = ""
    digest: str = ""


class MediaFinder(Protocol):
    """Finds the media of logged samples."""

    def of_sample(self, logged: Mapping[str, Any]) -> list[FoundMedium]:
        """The media that a logged sample names."""
        ...


class MediaLocator:
    """Finds media below a set of root folders.

    Args:
        roots: Folders whose media may be shown. A link that leads out of them is not followed.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = [root.resolve() for root in roots if root.is_dir()]

    def of_sample(self, logged: Mapping[str, Any]) -> list[FoundMedium]:
        """The media that a logged sample names: in its record's `detail.media`, else in lmms-eval's `input_media`."""
        record = logged.get("record")
        detail = record.get("detail") if isinstance(record, Mapping) else None
        named = detail.get("media") if isinstance(detail, Mapping) else None
        if not isinstance(named, list) or not named:
            named = logged.get("input_media")
        if not isinstance(named, list):
            return []
        names = [item.get("path") if isinstance(item, Mapping) else item for item in named[:_MOST_MEDIA_OF_A_SAMPLE]]
        return [self.find(name) for name in names if isinstance(name, str) and name]

    def find(self, name: str) -> FoundMedium:
        """Finds one medium.

        Args:
            name: A path (absolute, or relative to a root), a `file://` address or a `data:` URI. A path of another
                machine is found by its last parts below a root.
        """
        if name.startswith("data:"):
            return _inline(name)
        if name.startswith(("http://", "https://")):
            return FoundMedium(name[:200], reason="on another machine: nothing is fetched")
        if name.startswith("file://"):
            name = unquote(urlsplit(name).path)
        short = Path(name).name[:200] or name[:200]
        if "\0" in name:
            return FoundMedium(short.replace("\0", "␀"), reason="not a file name")
        path = self._below_roots(Path(name))
        if path is None:
            return FoundMedium(short, reason="not below a media folder (--media-root names one)")
        return _on_disk(path, short)

    def _below_roots(self, path: Path) -> Path | None:
        tries = [path] if path.is_absolute() else []
        tails = [Path(*path.parts[-length:]) for length in range(min(_LONGEST_TAIL, len(path.parts)), 0, -1)]
        tries += [root / tail for tail in tails if not tail.is_absolute() for root in self._roots]
        for candidate in tries:
            try:
                resolved = candidate.resolve()
                if resolved.is_file() and any(resolved.is_relative_to(root) for root in self._roots):
                    return resolved
            except (OSError, ValueError):
                continue
        return None


def default_media_roots(runs: Sequence[Path], extra: Sequence[Path] = ()) -> list[Path]:
    """The run folders, the embedded data, the folder of `TLIVE_DATA` and whatever the user names."""
    roots = [*extra, *runs]
    if named := os.environ.get("TLIVE_DATA"):
        roots.append(Path(named).expanduser())
    tasks = find_spec("tliveomni_eval.tasks")  # Located, not imported: the page needs no task code.
    if tasks is not None and tasks.origin is not None:
        roots += sorted(folder for folder in (Path(tasks.origin).parent / "data").glob("*") if folder.is_dir())
    return roots


def _on_disk(path: Path, name: str) -> FoundMedium:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            media_type = sniff(file.read(SNIFFED_BYTES))
    except OSError as error:
        return FoundMedium(name, reason=f"cannot be read: {error.strerror}")
    if media_type is None:
        return FoundMedium(name, size=size, reason="neither an image, a recording nor a video that a browser shows")
    if size > LARGEST_MEDIUM:
        return FoundMedium(name, size=size, reason=f"larger than {LARGEST_MEDIUM >> 20} MiB")
    return FoundMedium(name, path=path, type=media_type, size=size)


def _inline(uri: str) -> FoundMedium:
    head, _, body = uri.partition(",")
    if not head.endswith(";base64"):
        return FoundMedium("inline", reason="inline, but not base64")
    try:
        content = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return FoundMedium("inline", reason="inline, but its base64 is damaged")
    media_type = sniff(content[:SNIFFED_BYTES])
    if media_type is None:
        return FoundMedium("inline", reason="inline, but neither an image, a recording nor a video")
    return FoundMedium(f"inline{media_type.suffix}", content=content, type=media_type, size=len(content))
