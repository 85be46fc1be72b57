"""The host of a stream: a drawn person from the waist up, with the mouth closed and open."""

import random
from typing import Final

from PIL import Image, ImageDraw
from tliveomni_eval.tasks.composer.products import outline
from tliveomni_eval.tasks.composer.products.product import Rgb
from tliveomni_eval.tasks.composer.products.shading import flat, soft, turned

_OVERSAMPLING: Final = 3
_SKINS: Final[tuple[Rgb, ...]] = ((244, 208, 178), (228, 180, 144), (196, 142, 104), (140, 94, 66))
_HAIRS: Final[tuple[Rgb, ...]] = ((36, 28, 26), (64, 42, 30), (96, 62, 38), (24, 24, 30))
_SHIRTS: Final[tuple[Rgb, ...]] = ((226, 226, 222), (84, 110, 140), (70, 96, 84), (150, 70, 84), (60, 60, 70))


def host_pictures(rng: random.Random, height_px: int) -> tuple[Image.Image, Image.Image]:
    """RGBA pictures of one host, `height_px` tall and as wide, with the mouth closed and open."""
    side = height_px * _OVERSAMPLING
    size = (side, side)
    skin, hair, shirt = rng.choice(_SKINS), rng.choice(_HAIRS), rng.choice(_SHIRTS)
    has_long_hair = rng.random() < 0.6
    picture = Image.new("RGBA", size, (0, 0, 0, 0))

    def part(x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        return (side * x0, side * y0, side * x1, side * y1)

    if has_long_hair:
        picture.alpha_composite(soft(outline.rounded(size, part(0.33, 0.1, 0.67, 0.66), side * 0.15), hair))
    shoulders = outline.smooth(
        size, [(0.12, 1.0), (0.16, 0.74), (0.3, 0.62), (0.5, 0.58), (0.7, 0.62), (0.84, 0.74), (0.88, 1.0), (0.5, 1.04)]
    )
    picture.alpha_composite(soft(shoulders, shirt))
    picture.alpha_composite(turned(outline.rounded(size, part(0.43, 0.42, 0.57, 0.64), side * 0.05), skin, 0.0))
    if rng.random() < 0.5:
        collar = outline.polygon(
            size, [(side * 0.42, side * 0.59), (side * 0.58, side * 0.59), (side * 0.5, side * 0.74)]
        )
        picture.alpha_composite(flat(collar, skin, 0.98, 0.9))
    picture.alpha_composite(turned(outline.ellipse(size, part(0.36, 0.1, 0.64, 0.51)), skin, 0.05))
    fringe = outline.smooth(
        size,
        [
            (0.34, 0.3),
            (0.34, 0.14),
            (0.5, 0.05),
            (0.66, 0.14),
            (0.66, 0.3),
            (0.62, 0.2),
            (rng.uniform(0.44, 0.56), 0.18),
            (0.38, 0.2),
        ],
    )
    picture.alpha_composite(soft(fringe, hair))
    pen = ImageDraw.Draw(picture)
    for x in (0.44, 0.56):
        pen.ellipse(part(x - 0.028, 0.285, x + 0.028, 0.315), fill=(250, 250, 248, 255))
        pen.ellipse(part(x - 0.014, 0.285, x + 0.014, 0.315), fill=(34, 26, 24, 255))
        pen.line(part(x - 0.035, 0.255, x + 0.035, 0.25), fill=(*hair, 255), width=max(1, side // 90))
    pen.line(
        (side * 0.5, side * 0.32, side * 0.49, side * 0.375), fill=tuple(c * 8 // 10 for c in skin), width=side // 110
    )
    open_mouth = picture.copy()
    pen.arc(part(0.455, 0.39, 0.545, 0.435), 20, 160, fill=(168, 70, 70, 255), width=max(2, side // 70))
    ImageDraw.Draw(open_mouth).ellipse(part(0.462, 0.403, 0.538, 0.45), fill=(140, 46, 50, 255))
    return _scaled(picture, height_px), _scaled(open_mouth, height_px)


def _scaled(picture: Image.Image, side: int) -> Image.Image:
    return picture.resize((side, side), Image.Resampling.LANCZOS)
