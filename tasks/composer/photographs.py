"""Photographic backgrounds: random crops of the photographs that travel with the package."""

import random
from functools import cache
from pathlib import Path
from typing import Final

from PIL import Image, ImageEnhance, ImageFilter, ImageOps

PHOTOGRAPH_FOLDER: Final = Path(__file__).with_name("backgrounds")
# A live stream's camera has a shallow depth of field: most frames take the softened copies.
_SOFTENING_RADII: Final = (0.0, 1.2, 3.5)
_SOFTENING_WEIGHTS: Final = (2, 4, 3)
# Frames are cropped from these widths without scaling, which would cost more time than all the rest of a frame.
_WIDTHS: Final = (640, 800)
_THUMBNAIL_WIDTH: Final = 192


@cache
def _photographs() -> tuple[Image.Image, ...]:
    """All photographs, decoded once a process."""
    decoded = []
    for path in sorted(PHOTOGRAPH_FOLDER.glob("*.webp")):
        with Image.open(path) as file:
            decoded.append(file.convert("RGB"))
    if not decoded:
        raise FileNotFoundError(f"no background photographs (*.webp) in {PHOTOGRAPH_FOLDER}; reinstall the package")
    return tuple(decoded)


@cache
def _scaled(index: int, width: int, softening_radius: float) -> Image.Image:
    """A photograph at a width in pixels, blurred; made once a process (about 60 MiB for all)."""
    photo = _photographs()[index]
    if width != photo.width:
        photo = photo.resize((width, photo.height * width // photo.width), Image.Resampling.LANCZOS)
    return photo.filter(ImageFilter.GaussianBlur(softening_radius)) if softening_radius else photo


@cache
def _indices_without(names: tuple[str, ...]) -> tuple[int, ...]:
    stems = [path.stem for path in sorted(PHOTOGRAPH_FOLDER.glob("*.webp"))]
    return tuple(index for index, stem in enumerate(stems) if stem not in names)


def draw_background(rng: random.Random, size: tuple[int, int], without: tuple[str, ...] = ()) -> Image.Image:
    """A random crop of ``size`` = (width, height) pixels, mirrored, softened and exposed at random.

    ``without`` names photographs that are not to be used, because they show what a question is about.
    """
    indices = _indices_without(without)
    index = indices[rng.randrange(len(indices))]
    width = rng.choice(_WIDTHS)
    frame = _random_crop(rng, _scaled(index, width, rng.choices(_SOFTENING_RADII, _SOFTENING_WEIGHTS)[0]), size)
    if rng.random() < 0.5:
        frame = ImageOps.mirror(frame)
    return ImageEnhance.Brightness(frame).enhance(rng.uniform(0.65, 1.1))


def draw_thumbnail(rng: random.Random, side_px: int) -> Image.Image:
    """A square product picture: a sharp crop of a random photograph, ``side_px`` pixels wide, at most 144."""
    index = rng.randrange(len(_photographs()))
    return _random_crop(rng, _scaled(index, _THUMBNAIL_WIDTH, 0.0), (side_px, side_px))


def _random_crop(rng: random.Random, photo: Image.Image, size: tuple[int, int]) -> Image.Image:
    left, top = rng.randint(0, photo.width - size[0]), rng.randint(0, photo.height - size[1])
    return photo.crop((left, top, left + size[0], top + size[1]))
