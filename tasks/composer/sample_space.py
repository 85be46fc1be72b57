"""The values that a live_ocr sample can take: image sizes, languages, qualities and the ranges behind slice values."""

from typing import Final, Literal, get_args

from tliveomni_eval.tasks.composer.card_text import Language

Quality = Literal["clean", "jpeg", "blur", "low_contrast", "rotated"]

# (width, height) in pixels -> weight when drawn. Multiples of 32, because one visual token covers 32 x 32 pixels.
IMAGE_SIZES: Final[dict[tuple[int, int], float]] = {(320, 192): 4, (384, 224): 4, (448, 256): 3, (640, 384): 0.5}
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
QUALITIES: Final[tuple[Quality, ...]] = get_args(Quality)
# Slice value -> inclusive range of the asked text's height in pixels: of a Chinese character's box (its em) where the
# text has one, else of a capital letter.
TEXT_HEIGHTS: Final = {"10-13": (10, 13), "14-18": (14, 18), "19-26": (19, 26), "27+": (27, 36)}
# Strokes of a Chinese character run together below this height.
LOWEST_CHINESE_HEIGHT: Final = 11
# Slice value -> inclusive range of text lines in the frame.
LINE_COUNTS: Final = {"1": (1, 1), "2-3": (2, 3), "4+": (4, 8)}
