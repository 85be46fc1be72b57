"""What is told of the media of a candidate by opening them: bytes, perceptual hash, size, duration, sound."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.calibration.near_duplicates import picture_hash
from tliveomni_eval.model_adapters.calibration.sample_traits import MEGAPIXELS, SECONDS, bucket
from tliveomni_eval.tasks.audio_file import audio_seconds
from tliveomni_eval.tasks.image_file import read_image
from tliveomni_eval.tasks.manifest import MediaType, Sample
from tliveomni_eval.tasks.media_limits import MediaError, check_media_file
from tliveomni_eval.tasks.video_file import has_sound, video_size


@dataclass(frozen=True, slots=True)
class MediaFacts:
    """One file.

    Attributes:
        kind: Image, audio or video.
        digest: SHA-256 of its bytes.
        picture: Perceptual hash of an image.
        megapixels: Of an image or a frame.
        seconds: Of audio or video.
        sound: Whether a video has an audio track.
    """

    kind: MediaType
    digest: bytes
    picture: NDArray[np.uint64] | None = None
    megapixels: float | None = None
    seconds: float | None = None
    sound: bool = False


def media_facts(root: Path, kind: MediaType, name: str) -> MediaFacts:
    """Open a file of a data folder.

    Args:
        root: The data folder.
        kind: Image, audio or video.
        name: Path below it.

    Raises:
        UserError: It is not there, leads out of the folder, or cannot be read.
    """
    path = root / name
    if not path.resolve().is_relative_to(root.resolve()):
        raise MediaError(f"{kind} {name!r}: leads out of the data folder through a link")
    check_media_file(kind, path)
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise MediaError(f"{kind} {path}: {error.strerror}") from None
    if kind == "image":
        image = read_image(path)
        return MediaFacts(kind, digest, picture_hash(image), image.width * image.height / 1e6)
    if kind == "audio":
        return MediaFacts(kind, digest, seconds=audio_seconds(path))
    width, height, seconds = video_size(path)
    return MediaFacts(kind, digest, None, width * height / 1e6, seconds, has_sound(path))


def media_traits(facts: Sequence[MediaFacts]) -> tuple[tuple[str, str], ...]:
    """Traits of a sample that its line does not show: the largest picture, the total duration, sound of a video."""
    traits = []
    pixels = [fact.megapixels for fact in facts if fact.megapixels is not None]
    if pixels:
        traits.append(("megapixels", bucket(max(pixels), MEGAPIXELS)))
    seconds = [fact.seconds for fact in facts if fact.seconds is not None]
    if seconds:
        traits.append(("seconds", bucket(sum(seconds), SECONDS)))
    if any(fact.kind == "video" for fact in facts):
        traits.append(("video", "with sound" if any(fact.sound for fact in facts) else "without sound"))
    return tuple(traits)


def facts_or_fault(root: Path, sample: Sample) -> list[MediaFacts] | str:
    """Facts of all media of a sample, or why one cannot be used."""
    try:
        return [media_facts(root, media.type, media.path) for media in sample.media]
    except UserError as error:
        return str(error)
