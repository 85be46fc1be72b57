"""Frames of the film clip that streams cut away to."""

from functools import cache
from pathlib import Path
from typing import Final

import av
import numpy as np
import numpy.typing as npt

CLIP_FILE: Final = Path(__file__).with_name("clips") / "big_buck_bunny.mp4"


@cache
def clip_frames() -> tuple[npt.NDArray[np.uint8], ...]:
    """The clip's frames, RGB of shape (height, width, 3), one a tick; decoded once a process."""
    container = av.open(str(CLIP_FILE))
    try:
        pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    finally:
        container.close()
    return tuple(np.asarray(picture, dtype=np.uint8) for picture in pictures)
