"""What happens to a frame between the shop and the viewer: compression, blur, fading (rotation is part of the layout)."""

import io
import random

from PIL import Image, ImageFilter


def compress_jpeg(rng: random.Random, frame: Image.Image, text_px: int) -> Image.Image:
    """JPEG artefacts of a weak uplink, stronger where the asked text is tall enough to survive them."""
    lowest, highest = (30, 45) if text_px < 14 else (20, 35) if text_px < 19 else (10, 25)
    buffer = io.BytesIO()
    frame.save(buffer, "JPEG", quality=rng.randint(lowest, highest), subsampling=2)
    buffer.seek(0)
    with Image.open(buffer) as decoded:
        return decoded.convert("RGB")


def blur(rng: random.Random, frame: Image.Image, text_px: int) -> Image.Image:
    """Defocus (a Gaussian of 5 to 8 % of the text's height) or horizontal motion of a few pixels."""
    if rng.random() < 0.6:
        return frame.filter(ImageFilter.GaussianBlur(text_px * rng.uniform(0.05, 0.08)))
    length = max(2, round(text_px * rng.uniform(0.12, 0.2)))
    moved = frame
    for step in range(1, length):
        # A running mean of shifted copies is a box filter along the row.
        shifted = frame.transform(frame.size, Image.Transform.AFFINE, (1, 0, step, 0, 1, 0))
        moved = Image.blend(moved, shifted, 1 / (step + 1))
    moved.paste(frame.crop((frame.width - length, 0, frame.width, frame.height)), (frame.width - length, 0))
    return moved
