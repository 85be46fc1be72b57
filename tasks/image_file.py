"""Reading an image of a sample: decoded whole, or a message that names the file."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageFile, UnidentifiedImageError
from tliveomni_eval.evals.errors import UserError

MAX_PIXELS = 64_000_000
"""Above this an image is refused before it is decoded: no live-stream frame is near it, and a decompression bomb is."""


class MediaError(UserError):
    """A media file that cannot be used; the message names it."""


def read_image(path: Path) -> Image.Image:
    """Decode an image file to RGB.

    Args:
        path: Image file.

    Returns:
        An RGB image, fully decoded, that holds no open file.

    Raises:
        MediaError: The file is missing, empty, truncated, not an image, or larger than `MAX_PIXELS`.
    """
    # Some packages switch this on for the whole process, and a truncated image would then be read as half grey.
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    try:
        with Image.open(path) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise MediaError(f"image {path}: {width}×{height} pixels, more than the limit of {MAX_PIXELS}")
            return image.convert("RGB")
    except FileNotFoundError:
        raise MediaError(
            f"image {path}: there is no such file; restore it or remove its line from the manifest"
        ) from None
    except UnidentifiedImageError:
        size = path.stat().st_size
        reason = "it has 0 bytes" if size == 0 else f"its {size} bytes are not an image"
        raise MediaError(f"image {path}: {reason}; replace it or remove its line from the manifest") from None
    except Image.DecompressionBombError as error:
        raise MediaError(f"image {path}: {error}") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise MediaError(f"image {path}: cannot be decoded ({error}); it is damaged or truncated, replace it") from None
