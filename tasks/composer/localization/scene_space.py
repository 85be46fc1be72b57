"""The values that a live_localization sample can take, and the ranges behind them."""

from typing import Final, Literal

Language = Literal["zh", "en"]
LANGUAGES: Final[tuple[Language, ...]] = ("zh", "en")

# (width, height) in pixels; multiples of 32, because one visual token covers 32 x 32 pixels.
IMAGE_SIZES: Final = ((320, 256), (384, 288), (512, 384))
# COCO size range -> inclusive range of the area of a box in pixels squared, away from the range's borders (32^2, 96^2).
AREAS: Final = {"small": (330, 980), "medium": (1120, 8600), "large": (9700, 30000)}
# Slice value -> inclusive range of asked-for instances in the picture.
INSTANCES: Final = {"0": (0, 0), "1": (1, 1), "2": (2, 2), "3-4": (3, 4), "5-6": (5, 6)}
# Slice value -> range of the hidden share of the most hidden asked-for instance.
OCCLUSIONS: Final = {"none": (0.0, 0.02), "partial": (0.10, 0.30), "heavy": (0.32, 0.60)}
