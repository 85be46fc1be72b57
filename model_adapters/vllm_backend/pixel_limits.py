"""Pictures within a user's limits of pixels, at sizes that a checkpoint's own processor leaves as they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image


@dataclass(frozen=True, slots=True)
class PixelLimits:
    """How large an image, or one frame of a video, may be.

    Attributes:
        least: A picture with fewer pixels is enlarged; None for no limit of the user's.
        most: A picture with more pixels is shrunk; None for no limit of the user's.
        multiple: What both sides of a changed picture are multiples of, in pixels: the square that becomes one token.
    """

    least: int | None = None
    most: int | None = None
    multiple: int = 32

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels that a picture is given at; its own where it is within the limits.

        The shape is kept as far as multiples allow.

        Args:
            width: Of the picture.
            height: Of the picture.

        Example:
            >>> PixelLimits(most=100_000).size(1280, 720)
            (416, 224)
        """
        pixels = width * height
        if self.most is not None and pixels > self.most:
            scale = math.sqrt(self.most / pixels) / self.multiple
            return self._side(math.floor(width * scale)), self._side(math.floor(height * scale))
        if self.least is not None and pixels < self.least:
            scale = math.sqrt(self.least / pixels) / self.multiple
            return self._side(math.ceil(width * scale)), self._side(math.ceil(height * scale))
        return width, height

    def _side(self, units: int) -> int:
        return max(1, units) * self.multiple

    def image(self, image: Image.Image) -> Image.Image:
        """An image within the limits."""
        size = self.size(*image.size)
        return image if size == image.size else image.resize(size, Image.Resampling.BICUBIC)

    def frames(self, frames: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Frames within the limits, (frames, height, width, 3)."""
        height, width = frames.shape[1:3]
        size = self.size(width, height)
        if size == (width, height):
            return frames
        return np.stack([np.asarray(self.image(Image.fromarray(frame))) for frame in frames])
