"""Reading an image of a sample: decoded whole, or a message that names the file."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image, ImageFile, UnidentifiedImageError
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.tasks.packed_image import image_bytes, is_packed

MAX_PIXELS = 64_000_000
"""Above this an image is refused before it is decoded: no live-stream frame is near it, and a decompression bomb is."""


class MediaError(UserError):
    """A media file that cannot be used; the message names it."""


def read_image(path: Path) -> Image.Image:
    """Decode an image file to RGB.

    Args:
        path: Image file, or the path of an image inside a larger file.

    Returns:
        An RGB image, fully decoded, that holds no open file.

    Raises:
        MediaError: The file is missing, empty, truncated, not an image, or larger than `MAX_PIXELS`.
        PackedImageError: The larger file holds no image there.
    """
    # Some packages switch this on for the whole process, and a truncated image would then be read as half grey.
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    try:
        with Image.open(io.BytesIO(image_bytes(path)) if is_packed(path) else path) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise MediaError(f"image {path}: {width}×{height} pixels, more than the limit of {MAX_PIXELS}")
            return image.convert("RGB")
    except FileNotFoundError:
        raise MediaError(
            f"image {path}: there is no such file; restore it or remove its line from the manifest"
        ) from None
    except UnidentifiedImageError:
        size = len(image_bytes(path)) if is_packed(path) else path.stat().st_size
        reason = "it has 0 bytes" if size == 0 else f"its {size} bytes are not an image"
        raise MediaError(f"image {path}: {reason}; replace it or remove its line from the manifest") from None
    except Image.DecompressionBombError as error:
        raise MediaError(f"image {path}: {error}") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise MediaError(f"image {path}: cannot be decoded ({error}); it is damaged or truncated, replace it") from None


def image_size(path: Path) -> tuple[int, int]:
    """Width and height of an image in pixels, from its header.

    Raises:
        MediaError: The file is missing or not an image.
    """
    try:
        with Image.open(path) as image:
            return image.size
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        read_image(path)
        raise
