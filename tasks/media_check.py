"""Decoding every image of a data folder, to find the damaged ones before a run does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tliveomni_eval.tasks.image_file import MediaError, read_image
from tliveomni_eval.tasks.manifest import Fault, Sample, read_lines


def damaged_media(folder: Path) -> list[Fault]:
    """Images that exist, hold bytes and cannot be decoded.

    Args:
        folder: Data folder.

    Returns:
        One fault for each damaged image, in manifest order.

    Raises:
        ManifestError: There is no readable manifest in the folder.
    """
    places = [
        (number, f"media.{index}.path", folder / media.path)
        for number, sample in read_lines(folder)
        if isinstance(sample, Sample)
        for index, media in enumerate(sample.media)
        if media.type == "image"
    ]
    whole = [place for place in places if place[2].is_file() and place[2].stat().st_size > 0]
    with ThreadPoolExecutor() as pool:
        messages = pool.map(_damage, [path for _, _, path in whole])
        return [Fault(number, field, text) for (number, field, _), text in zip(whole, messages, strict=True) if text]


def _damage(path: Path) -> str:
    try:
        read_image(path)
    except MediaError as error:
        return str(error)
    return ""
