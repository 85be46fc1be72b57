"""Photographic backgrounds: random crops of the photographs that travel with the package."""

import random
from functools import cache
from pathlib import Path
from typing import Final

from PIL import Image, ImageEnhance, ImageFilter, ImageOps

PHOTOGRAPH_FOLDER: Final = Path(__file__).with_name("backgrounds")
# A live stream's camera has a shallow depth of field: most frames take the softened copies.
_SOFTENING_RADII: Final = (0.0, 1.2, 3.5)


@cache
def _photographs() -> tuple[tuple[Image.Image, ...], ...]:
    """Each photograph at each softening; decoded once a process."""
    decoded = []
    for path in sorted(PHOTOGRAPH_FOLDER.glob("*.webp")):
        with Image.open(path) as file:
            photo = file.convert("RGB")
        decoded.append(
            tuple(photo.filter(ImageFilter.GaussianBlur(radius)) if radius else photo for radius in _SOFTENING_RADII)
        )
    if not decoded:
        raise FileNotFoundError(f"no background photographs (*.webp) in {PHOTOGRAPH_FOLDER}; reinstall the package")
    return tuple(decoded)


def draw_background(rng: random.Random, size: tuple[int, int]) -> Image.Image:
    """A crop of a random photograph, ``size`` = (width, height) pixels, with random zoom, mirroring and exposure."""
    softened = rng.choice(_photographs())
    photo = rng.choices(softened, weights=(2, 4, 3))[0]
    frame = _random_crop(rng, photo, size, rng.uniform(0.55, 1.0))
    if rng.random() < 0.5:
        frame = ImageOps.mirror(frame)
    return ImageEnhance.Brightness(frame).enhance(rng.uniform(0.65, 1.1))


def draw_thumbnail(rng: random.Random, side_px: int) -> Image.Image:
    """A square product picture: a sharp crop of a random photograph, ``side_px`` pixels wide."""
    return _random_crop(rng, rng.choice(_photographs())[0], (side_px, side_px), rng.uniform(0.5, 0.9))


def _random_crop(rng: random.Random, photo: Image.Image, size: tuple[int, int], share: float) -> Image.Image:
    scale = share * min(photo.width / size[0], photo.height / size[1])
    width, height = size[0] * scale, size[1] * scale
    left, top = rng.uniform(0, photo.width - width), rng.uniform(0, photo.height - height)
    return photo.resize(size, Image.Resampling.BILINEAR, box=(left, top, left + width, top + height), reducing_gap=2.0)
