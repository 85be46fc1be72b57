"""Media of stored samples, by the addresses of the server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tliveomni_eval.leaderboard.media_kind import SNIFFED_BYTES, MediaType, sniff
from tliveomni_eval.leaderboard.media_location import FoundMedium
from tliveomni_eval.leaderboard.task_page_data import MediaItem
from tliveomni_eval.leaderboard.waveform import waveform


class StoredMediaFinder:
    """Media of stored samples: names of the form `hash:…`.

    Args:
        paths: Hash to path, for all media of the runs.
    """

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths
        self._known: dict[str, FoundMedium] = {}

    def of_sample(self, logged: Mapping[str, Any]) -> list[FoundMedium]:
        """See `MediaFinder`."""
        names = logged.get("input_media") or []
        return [self._find(name.removeprefix("hash:")) for name in names]

    def _find(self, digest: str) -> FoundMedium:
        if digest not in self._known:
            self._known[digest] = self._look_up(digest)
        return self._known[digest]

    def _look_up(self, digest: str) -> FoundMedium:
        path = self._paths.get(digest)
        if path is None:
            return FoundMedium(digest, reason="not in the store")
        media_type = _type_of(path)
        if media_type is None:
            return FoundMedium(path.name, reason="no longer where it was when the run was added")
        return FoundMedium(path.name, path=path, type=media_type, size=path.stat().st_size, digest=digest)


class ServedMedia:
    """Media by the addresses of the server."""

    def include(self, medium: FoundMedium, important: bool) -> MediaItem:
        """See `MediaInclusion`; every medium is included, because none is sent before it is asked for."""
        if medium.type is None or medium.path is None:
            return MediaItem(kind="image", name=medium.name, reason=medium.reason)
        outline = waveform(medium.path) if medium.type.kind == "audio" else None
        return MediaItem(
            kind=medium.type.kind,
            name=medium.name,
            source=f"media/{medium.digest}",
            thumbnail=f"thumbnails/{medium.digest}" if medium.type.kind == "image" else "",
            bytes=medium.size,
            peaks=outline.peaks if outline else [],
            duration_s=outline.duration_s if outline else None,
        )


def _type_of(path: Path) -> MediaType | None:
    try:
        with path.open("rb") as file:
            return sniff(file.read(SNIFFED_BYTES))
    except OSError:
        return None
