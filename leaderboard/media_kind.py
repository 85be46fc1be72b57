"""What kind of medium a file is, told by its first bytes: the name of a file in a log proves nothing."""

from __future__ import annotations

from dataclasses import dataclass

from tliveomni_eval.leaderboard.page_model import MediaKind

SNIFFED_BYTES = 16


@dataclass(frozen=True, slots=True)
class MediaType:
    """A media type that every browser draws and that cannot carry a script (so SVG is none of them).

    Attributes:
        kind: How the page shows it.
        mime: MIME type.
        suffix: File suffix with its dot.
    """

    kind: MediaKind
    mime: str
    suffix: str


def sniff(head: bytes) -> MediaType | None:
    r"""The media type of a file.

    Args:
        head: Its first `SNIFFED_BYTES` bytes.

    Returns:
        The type, or None where it is none that the page shows.

    >>> sniff(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").mime
    'image/png'
    """
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return MediaType("image", "image/png", ".png")
    if head.startswith(b"\xff\xd8\xff"):
        return MediaType("image", "image/jpeg", ".jpg")
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return MediaType("image", "image/gif", ".gif")
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return MediaType("image", "image/webp", ".webp")
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return MediaType("audio", "audio/wav", ".wav")
    if head.startswith(b"OggS"):
        return MediaType("audio", "audio/ogg", ".ogg")
    if head.startswith(b"fLaC"):
        return MediaType("audio", "audio/flac", ".flac")
    if head.startswith(b"ID3") or head[:2] in (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"):
        return MediaType("audio", "audio/mpeg", ".mp3")
    if head.startswith(b"\x1aE\xdf\xa3"):
        return MediaType("video", "video/webm", ".webm")
    if head[4:8] == b"ftyp":
        if head[8:12] in (b"M4A ", b"M4B "):
            return MediaType("audio", "audio/mp4", ".m4a")
        if head[8:12] in (b"avif", b"avis"):
            return MediaType("image", "image/avif", ".avif")
        return MediaType("video", "video/mp4", ".mp4")
    return None
