"""What happens to a frame on its way to the viewer: compression and blur."""

import io
import math
import random

from PIL import Image, ImageFilter


def compress_jpeg(rng: random.Random, frame: Image.Image, text_px: int) -> Image.Image:
    """JPEG artefacts of a weak uplink, stronger where the asked text is tall enough to survive them."""
    lowest, highest = (20, 34) if text_px < 14 else (14, 26) if text_px < 19 else (7, 18)
    buffer = io.BytesIO()
    frame.save(buffer, "JPEG", quality=rng.randint(lowest, highest), subsampling=2)
    buffer.seek(0)
    with Image.open(buffer) as decoded:
        return decoded.convert("RGB")


def blur(rng: random.Random, frame: Image.Image, text_px: int) -> Image.Image:
    """Defocus (standard deviation 6 to 9.5 % of the text's height) or horizontal motion (14 to 24 % of it)."""
    if rng.random() < 0.6:
        deviation = text_px * rng.uniform(0.06, 0.095)
        # A box of this radius has the wanted deviation: (2r + 1)^2 - 1 = 12 d^2.
        return frame.filter(ImageFilter.BoxBlur((math.sqrt(12 * deviation**2 + 1) - 1) / 2))
    length = max(2, round(text_px * rng.uniform(0.14, 0.24)))
    moved = frame
    for step in range(1, length):
        # A running mean of shifted copies is a box filter along the row.
        shifted = frame.copy()
        shifted.paste(frame.crop((step, 0, frame.width, frame.height)), (0, 0))
        moved = Image.blend(moved, shifted, 1 / (step + 1))
    return moved
