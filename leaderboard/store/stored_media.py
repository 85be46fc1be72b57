"""Media by content: each file is hashed once, known by its hash ever after, and gets one thumbnail."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from tliveomni_eval.leaderboard.media_kind import MediaType
from tliveomni_eval.leaderboard.media_location import FoundMedium

THUMBNAIL_SIZE = (240, 240)

_MOST_PIXELS = 64_000_000
"""A larger image gets no thumbnail and is not decoded; the tasks read no such image either."""


@dataclass(frozen=True, slots=True)
class StoredMedium:
    """A medium the store knows.

    Attributes:
        hash: First 32 hexadecimal digits of the sha256 of its content.
        type: Its type.
        path: Where it is.
        size: Bytes.
    """

    hash: str
    type: MediaType
    path: Path
    size: int


class MediaHasher:
    """Hashes files, each once as long as it does not change.

    Args:
        folder: Folder of the store; content that came inside a log is kept there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[tuple[Path, int, int], str] = {}

    def store(self, medium: FoundMedium) -> StoredMedium | None:
        """Makes a medium known; None where there is nothing to show."""
        if medium.type is None:
            return None
        if medium.content is not None:
            digest = hashlib.sha256(medium.content).hexdigest()[:32]
            path = self._folder / "media" / f"{digest}{medium.type.suffix}"
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(medium.content)
        else:
            assert medium.path is not None
            path = medium.path
            facts = path.stat()
            key = (path, facts.st_size, facts.st_mtime_ns)
            if key not in self._known:
                with path.open("rb") as file:
                    self._known[key] = hashlib.file_digest(file, "sha256").hexdigest()[:32]
            digest = self._known[key]
        return StoredMedium(digest, medium.type, path, medium.size)

    def make_thumbnails(self, media: Iterable[StoredMedium]) -> None:
        """Writes a small WebP of every image that has none yet; an image that cannot be decoded gets none."""
        folder = self._folder / "thumbnails"
        folder.mkdir(parents=True, exist_ok=True)
        for medium in media:
            target = folder / f"{medium.hash}.webp"
            if medium.type.kind != "image" or target.exists():
                continue
            unfinished = target.with_suffix(".part")
            try:
                with Image.open(medium.path) as image:
                    if image.width * image.height > _MOST_PIXELS:
                        continue
                    image.thumbnail(THUMBNAIL_SIZE, Image.Resampling.BILINEAR)
                    image.convert("RGB").save(unfinished, "WEBP", quality=78, method=0)
                unfinished.replace(target)
            except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
                unfinished.unlink(missing_ok=True)
