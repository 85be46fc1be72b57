"""What is refused of a media file before a byte of it is decoded: remote addresses, no plain files, files too large."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from pathlib import Path, PureWindowsPath

from tliveomni_eval.evals.errors import UserError

MAX_BYTES: Mapping[str, int] = {"image": 128 * 2**20, "audio": 2**30, "video": 4 * 2**30}
"""Bytes of a file. An hour of 16-bit stereo at 48 kHz is 0.7 GiB; no live-stream frame is near 128 MiB."""

MAX_PIXELS = 64_000_000
"""Of an image or of one frame: no live-stream frame is near it (8K: 33 million), and a decompression bomb is above."""

MAX_SECONDS = 3_600.0
"""Of audio or video: five times the twelve minutes that one request can hold."""

_ADDRESS = re.compile(
    r"\s*(?:[a-z][a-z0-9+.\-]+:/|(?:data|file|pipe|fd|concat|concatf|subfile|crypto|cache|async|gopher|mailto):)",
    re.IGNORECASE,
)


class MediaError(UserError):
    """A media file that cannot be used; the message names it."""


def is_address(path: str) -> bool:
    """Whether a path is a URL, a data URI or a pseudo protocol of FFmpeg; none of them is ever opened.

    >>> is_address("https://example.com/a.png"), is_address("take 2: a.png")
    (True, False)
    """
    # A Path made of a URL has one slash left of two.
    return _ADDRESS.match(path) is not None


def path_refusal(path: str) -> str:
    """Why a manifest may not name a path; empty where it may.

    Args:
        path: As written in the manifest. A link is not followed here.
    """
    if is_address(path):
        return (
            "remote media are not loaded, whatever the host: download the file into the data folder and name it by "
            "its relative path"
        )
    windows = PureWindowsPath(path)
    leaves = Path(path).is_absolute() or ".." in Path(path).parts or ".." in windows.parts
    if leaves or windows.drive or windows.root or path.startswith("~") or "\x00" in path:
        return "must be a relative path inside the data folder"
    return ""


def check_media_file(kind: str, path: Path) -> None:
    """Refuse what must not be opened. A missing or an empty file is left to the reader, which says what to do.

    Args:
        kind: `image`, `audio` or `video`.
        path: The file.

    Raises:
        MediaError: An address, something that is not a plain file (a pipe would block, a device would never end), or
            a file of more than `MAX_BYTES`.
    """
    if is_address(str(path)):
        raise MediaError(f"{kind} {path}: remote media are not loaded; download the file and give its path")
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise MediaError(f"{kind} {str(path)[:200]!r}: cannot be opened ({error.__class__.__name__})") from None
    if not stat.S_ISREG(found.st_mode):
        raise MediaError(f"{kind} {path}: is not a plain file; replace it or remove its line from the manifest")
    if found.st_size > MAX_BYTES[kind]:
        raise MediaError(
            f"{kind} {path}: {found.st_size} bytes, more than the limit of {MAX_BYTES[kind]}; cut or compress it"
        )


def check_pixels(kind: str, path: Path, width: int, height: int) -> None:
    """Refuse a picture whose header names more than `MAX_PIXELS`.

    Raises:
        MediaError: It does.
    """
    if width * height > MAX_PIXELS:
        size = f"{width}×{height} pixels"
        raise MediaError(f"{kind} {path}: {size}, more than the limit of {MAX_PIXELS}; make it smaller")


def check_seconds(kind: str, path: Path, seconds: float) -> None:
    """Refuse a recording whose header names more than `MAX_SECONDS`.

    Raises:
        MediaError: It does.
    """
    if not seconds <= MAX_SECONDS:
        raise MediaError(f"{kind} {path}: {seconds:.0f} s, more than the limit of {MAX_SECONDS:.0f} s; cut it")
