"""Reading an image of a sample: decoded whole, or a message that names the file."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image, ImageFile, UnidentifiedImageError
from tliveomni_eval.tasks.media_limits import MAX_BYTES, MediaError, check_media_file, check_pixels
from tliveomni_eval.tasks.packed_image import image_bytes, is_packed

__all__ = ["MediaError", "image_size", "read_image"]

_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
"""What is decoded, told by content. Pillow knows fifty more, one of which (EPS) starts another program."""

_HEADER_BYTES = 32


def read_image(path: Path) -> Image.Image:
    """Decode an image file to RGB.

    Args:
        path: Image file, or the path of an image inside a larger file.

    Returns:
        An RGB image, fully decoded, that holds no open file.

    Raises:
        MediaError: The file is missing, empty, truncated, none of `_FORMATS` whatever its name says, or beyond a limit
            of `media_limits`; limits are looked at before anything is decoded.
        PackedImageError: The larger file holds no image there.
    """
    # Some packages switch this on for the whole process, and a truncated image would then be read as half grey.
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    try:
        with _opened(path) as image:
            return image.convert("RGB")
    except FileNotFoundError:
        raise MediaError(
            f"image {path}: there is no such file; restore it or remove its line from the manifest"
        ) from None
    except UnidentifiedImageError:
        size = len(image_bytes(path)) if is_packed(path) else path.stat().st_size
        reason = "it has 0 bytes" if size == 0 else f"its {size} bytes are not an image ({', '.join(_FORMATS)})"
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
        with _opened(path) as image:
            return image.size
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        read_image(path)
        raise


def _opened(path: Path) -> Image.Image:
    """An image whose header was read and whose pixels were not."""
    if is_packed(path):
        content = image_bytes(path)
        if len(content) > MAX_BYTES["image"]:
            raise MediaError(f"image {path}: {len(content)} bytes, more than the limit of {MAX_BYTES['image']}")
        check_pixels("image", path, *_webp_size(content[:_HEADER_BYTES]))
        image = Image.open(io.BytesIO(content), formats=_FORMATS)
    else:
        check_media_file("image", path)
        with path.open("rb") as file:
            check_pixels("image", path, *_webp_size(file.read(_HEADER_BYTES)))
        image = Image.open(path, formats=_FORMATS)
    try:
        check_pixels("image", path, *image.size)
    except MediaError:
        image.close()
        raise
    return image


def _webp_size(head: bytes) -> tuple[int, int]:
    """Width and height by the header of a WebP file, (0, 0) for any other.

    Pillow makes the whole canvas of a WebP file when it opens it, so its size is read here first (RFC 9649).
    """
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP" or len(head) < 30:
        return 0, 0
    if head[12:16] == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF
