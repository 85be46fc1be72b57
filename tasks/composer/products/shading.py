"""Light on a drawn surface: a mask and a colour become an RGBA picture that looks round, flat or glossy."""

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops
from tliveomni_eval.tasks.composer.products.product import Rgb

Array = npt.NDArray[np.floating]


def across(mask: Image.Image) -> Array:
    """Where each pixel lies between the left (0) and right (1) edge of the mask in its row; shape (height, width)."""
    filled = np.asarray(mask) > 0
    width = filled.shape[1]
    left = filled.argmax(axis=1)
    right = width - 1 - filled[:, ::-1].argmax(axis=1)
    span = np.maximum(right - left, 1)
    position = (np.arange(width)[None, :] - left[:, None]) / span[:, None]
    clipped: Array = np.clip(position, 0, 1).astype(np.float32)
    return clipped


def turned(mask: Image.Image, colour: Rgb, gloss: float) -> Image.Image:
    """A body of revolution, lit from the upper left.

    Args:
        mask: L image of its outline.
        colour: of its surface.
        gloss: 0 for paper, 1 for glass: strength of the highlight.
    """
    u = across(mask)
    light = 0.48 + 0.62 * np.sin(np.pi * np.clip(0.08 + 0.84 * u, 0, 1)) ** 0.8 - 0.22 * u
    highlight = gloss * (0.75 * np.exp(-(((u - 0.26) / 0.055) ** 2)) + 0.25 * np.exp(-(((u - 0.87) / 0.03) ** 2)))
    return _lit(mask, colour, light, highlight)


def flat(mask: Image.Image, colour: Rgb, upper: float, lower: float) -> Image.Image:
    """A flat face whose brightness goes from `upper` to `lower` (1 is the colour itself) down the picture."""
    rows = np.linspace(upper, lower, mask.height, dtype=np.float32)[:, None]
    return _lit(mask, colour, np.broadcast_to(rows, (mask.height, mask.width)), np.zeros((1, 1), dtype=np.float32))


def soft(mask: Image.Image, colour: Rgb, texture: Array | None = None) -> Image.Image:
    """A padded surface of cloth or leather: bright above, dark towards the lower edge and the sides."""
    u = across(mask)
    v = across(mask.transpose(Image.Transpose.TRANSPOSE)).T
    light = 1.12 - 0.38 * v**1.6 - 0.30 * np.abs(2 * u - 1) ** 3
    if texture is not None:
        light = light * texture
    return _lit(mask, colour, light, 0.12 * np.exp(-((u - 0.3) ** 2 + (v - 0.22) ** 2) / 0.02))


def _lit(mask: Image.Image, colour: Rgb, light: Array, highlight: Array) -> Image.Image:
    surface = np.asarray(colour, dtype=np.float32)[None, None, :] * light[..., None]
    surface = surface + (255 - surface) * np.clip(highlight, 0, 1)[..., None]
    picture = Image.fromarray(np.clip(surface, 0, 255).astype(np.uint8), "RGB")
    picture.putalpha(mask)
    return picture


def inside(mask: Image.Image, part: Image.Image) -> Image.Image:
    """The part of one mask that lies in another."""
    return ImageChops.multiply(mask, part)
