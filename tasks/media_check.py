"""Decoding every image, audio and video file of a data folder, to find the damaged ones before a run does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tliveomni_eval.tasks.audio_file import read_audio
from tliveomni_eval.tasks.image_file import MediaError, read_image
from tliveomni_eval.tasks.manifest import Fault, Sample, read_lines
from tliveomni_eval.tasks.video_file import check_video

_READERS: Mapping[str, Callable[[Path], Any]] = {
    "image": read_image,
    "audio": read_audio,
    "video": check_video,
}


def damaged_media(folder: Path) -> list[Fault]:
    """Images, audio and video files that exist, hold bytes and cannot be decoded.

    Args:
        folder: Data folder.

    Returns:
        One fault for each damaged file, in manifest order.

    Raises:
        ManifestError: There is no readable manifest in the folder.
    """
    places = [
        (number, f"media.{index}.path", _READERS[media.type], folder / media.path)
        for number, sample in read_lines(folder)
        if isinstance(sample, Sample)
        for index, media in enumerate(sample.media)
        if media.type in _READERS
    ]
    whole = [place for place in places if place[3].is_file() and place[3].stat().st_size > 0]
    with ThreadPoolExecutor() as pool:
        messages = pool.map(lambda place: _damage(place[2], place[3]), whole)
        return [Fault(number, field, text) for (number, field, *_), text in zip(whole, messages, strict=True) if text]


def _damage(read: Callable[[Path], Any], path: Path) -> str:
    try:
        read(path)
    except MediaError as error:
        return str(error)
    return ""
