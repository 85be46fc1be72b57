"""Draw a product at a height in pixels: large, shaded, tilted, and then scaled down so that its edges are smooth."""

import random
from collections.abc import Callable
from typing import Final

from PIL import Image, ImageDraw, ImageOps
from tliveomni_eval.tasks.composer.products import outline
from tliveomni_eval.tasks.composer.products.product import Kind, Product, Rgb
from tliveomni_eval.tasks.composer.products.shading import flat, inside, soft, turned
from tliveomni_eval.tasks.composer.typefaces import TYPEFACES, SizedFont, draw_text, font_for_height, text_width

_OVERSAMPLING: Final = 3
_LOWEST_DRAWN: Final = 150
_LABEL_FACES: Final = tuple(face for face in TYPEFACES if face.covers_chinese and not face.is_display)
_INK_DARK: Final[Rgb] = (38, 36, 40)
_INK_LIGHT: Final[Rgb] = (250, 248, 242)


def product_picture(product: Product, height_px: int, tilt: float = 0.0) -> Image.Image:
    """The product on transparent ground, cropped to what can be seen.

    Args:
        product: What to draw.
        height_px: Height of the upright product in pixels, at least 8.
        tilt: Degrees counterclockwise.
    """
    drawn_height = max(height_px * _OVERSAMPLING, _LOWEST_DRAWN)
    picture = _PAINTERS[product.kind](product, drawn_height, product.proportions())
    if tilt:
        picture = picture.rotate(tilt, Image.Resampling.BILINEAR, expand=True)
    scale = height_px / drawn_height
    size = (max(2, round(picture.width * scale)), max(2, round(picture.height * scale)))
    picture = picture.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)
    box = picture.getchannel("A").point(lambda alpha: 255 * (alpha >= 128)).getbbox()
    return picture.crop(box) if box else picture


def _bottle(product: Product, height: int, shape: random.Random) -> Image.Image:
    width = round(height * shape.uniform(0.3, 0.46))
    size = (width, height)
    cap, neck = shape.uniform(0.08, 0.16), shape.uniform(0.02, 0.1)
    shoulder = shape.uniform(0.05, 0.2)
    narrow, waist = shape.uniform(0.3, 0.55), shape.uniform(0.86, 1.0)
    top = cap + neck
    body = outline.lathe(
        size,
        [
            (cap - 0.01, narrow * 0.8),
            (top, narrow * 0.85),
            (top + shoulder * 0.3, narrow * 0.85 + (0.98 - narrow) * 0.45),
            (top + shoulder * 0.65, 0.9),
            (top + shoulder, 0.98),
            ((top + shoulder + 1) / 2, 0.98 * waist),
            (0.96, 0.98),
            (1.0, 0.92),
        ],
        bulge=0.12,
    )
    picture = turned(body, product.body, shape.uniform(0.35, 0.9))
    lid = outline.lathe(size, [(0.0, narrow * 0.92), (0.012, narrow), (cap, narrow)], bulge=0.1)
    lid.paste(0, (0, round(height * (cap + 0.02)), width, height))
    picture.alpha_composite(turned(lid, product.accent, 0.4))
    upper = round(height * (top + shoulder + shape.uniform(0.03, 0.1)))
    lower = round(height * shape.uniform(0.8, 0.93))
    band = outline.rounded(size, (0, upper, width, lower), 2)
    label = turned(inside(band, body), _label_colour(product), 0.1)
    picture.alpha_composite(label)
    _print(picture, product.brand, (width * 0.12, upper, width * 0.88, lower), _ink_on(_label_colour(product)), shape)
    return picture


def _tube(product: Product, height: int, shape: random.Random) -> Image.Image:
    width = round(height * shape.uniform(0.32, 0.44))
    size = (width, height)
    cap, crimp = shape.uniform(0.1, 0.18), 0.045
    foot = shape.uniform(0.5, 0.72)
    body = outline.lathe(size, [(0.0, 0.98), (crimp, 0.98), (0.55, 0.9), (1 - cap - 0.04, foot), (1 - cap, foot * 0.8)])
    picture = turned(body, product.body, 0.3)
    seam = outline.rounded(size, (0, 0, width, height * crimp), 1)
    picture.alpha_composite(flat(inside(seam, body), product.body, 0.86, 0.86))
    pen = ImageDraw.Draw(picture)
    for column in range(round(width * 0.04), width, max(3, width // 22)):
        shade = tuple(channel * 7 // 10 for channel in product.body)
        pen.line((column, 1, column, height * crimp), fill=(*shade, 255), width=max(1, width // 90))
    lid = outline.lathe(size, [(1 - cap, foot * 0.86), (1.0, foot * 0.8)], bulge=0.12)
    picture.alpha_composite(turned(lid, product.accent, 0.35))
    stripe_top = height * shape.uniform(0.62, 0.7)
    stripe = outline.rounded(size, (0, stripe_top, width, stripe_top + height * shape.uniform(0.02, 0.06)), 0)
    picture.alpha_composite(turned(inside(stripe, body), product.accent, 0.2))
    _print(
        picture, product.brand, (width * 0.14, height * 0.16, width * 0.86, height * 0.56), _ink_on(product.body), shape
    )
    return picture


def _box(product: Product, height: int, shape: random.Random) -> Image.Image:
    front_width = height * shape.uniform(0.5, 1.25)
    side_width, lift = height * shape.uniform(0.14, 0.3), height * shape.uniform(0.06, 0.14)
    size = (round(front_width + side_width), height)
    front = [(0, lift), (front_width, lift), (front_width, height), (0, height)]
    right = size[0] - 1
    beside = [(front_width, lift), (right, 0), (right, height - lift), (front_width, height)]
    above = [(0, lift), (side_width, 0), (right, 0), (front_width, lift)]
    picture = flat(outline.polygon(size, front), product.body, 1.06, 0.92)
    picture.alpha_composite(flat(outline.polygon(size, beside), product.body, 0.72, 0.58))
    picture.alpha_composite(flat(outline.polygon(size, above), product.body, 1.22, 1.14))
    band_top = lift + (height - lift) * shape.uniform(0.08, 0.66)
    band_bottom = band_top + (height - lift) * shape.uniform(0.1, 0.24)
    slope = lift / side_width
    picture.alpha_composite(
        flat(outline.rounded(size, (0, band_top, front_width, band_bottom), 0), product.accent, 1.0, 0.94)
    )
    strip = [(front_width, band_top), (right, band_top - side_width * slope)]
    strip += [(right, band_bottom - side_width * slope), (front_width, band_bottom)]
    picture.alpha_composite(flat(outline.polygon(size, strip), product.accent, 0.7, 0.6))
    free = (lift, band_top) if band_top - lift > height - band_bottom else (band_bottom, height)
    margin = front_width * 0.1
    field = (margin, free[0] + height * 0.05, front_width - margin, free[1] - height * 0.05)
    _print(picture, product.brand, field, _ink_on(product.body), shape)
    return picture


def _mug(product: Product, height: int, shape: random.Random) -> Image.Image:
    cup_width = round(height * shape.uniform(0.78, 1.02))
    reach = round(cup_width * shape.uniform(0.28, 0.36))
    size = (cup_width + reach, height)
    rim = height * shape.uniform(0.09, 0.14)
    grip_top, grip_bottom = height * shape.uniform(0.2, 0.28), height * shape.uniform(0.72, 0.84)
    left = cup_width - reach * 0.95
    handle = outline.ring(size, (left, grip_top, size[0] - 1, grip_bottom), reach * 0.3)
    picture = turned(handle, product.body, 0.3)
    taper = shape.uniform(0.86, 1.0)
    cup = outline.lathe((cup_width, height), [(rim / height, 1.0), (0.93, taper), (1.0, taper * 0.96)], bulge=0.1)
    cup.paste(255, mask=outline.ellipse(cup.size, (0, 0, cup_width - 1, 2 * rim)))
    picture.alpha_composite(turned(cup, product.body, 0.5))
    opening = outline.ellipse(size, (0, 0, cup_width - 1, 2 * rim))
    picture.alpha_composite(flat(opening, product.body, 1.18, 1.05))
    wall = cup_width * 0.035
    hollow = outline.ellipse(size, (wall, wall * 0.6, cup_width - 1 - wall, 2 * rim - wall * 0.6))
    picture.alpha_composite(flat(hollow, tuple(round(c * 0.5 + 20) for c in product.body), 0.75, 1.3))  # type: ignore[arg-type]
    if product.mirrored:
        picture = ImageOps.mirror(picture)
    start = reach if product.mirrored else 0
    band = (start + cup_width * 0.14, height * 0.4, start + cup_width * 0.78, height * 0.78)
    _print(picture, product.brand, band, _ink_on(product.body), shape)
    return picture


def _shoe(product: Product, height: int, shape: random.Random) -> Image.Image:
    width = round(height * shape.uniform(1.75, 2.2))
    size = (width, height)
    collar, toe = shape.uniform(0.02, 0.12), shape.uniform(0.52, 0.6)
    upper = outline.smooth(
        size,
        [(0.05, 0.12), (0.12, collar), (0.3, collar + 0.08), (0.37, 0.2), (0.52, 0.38), (0.72, toe),
         (0.92, toe + 0.08), (0.98, 0.78), (0.9, 0.88), (0.5, 0.88), (0.08, 0.88), (0.03, 0.6), (0.05, 0.3)],
    )  # fmt: skip
    picture = soft(upper, product.body)
    tongue = outline.smooth(size, [(0.27, 0.0), (0.36, 0.02), (0.42, 0.26), (0.36, 0.32), (0.29, 0.14)])
    under = soft(tongue, tuple(round(c * 0.8) for c in product.body))  # type: ignore[arg-type]
    under.alpha_composite(picture)
    picture = under
    patch = outline.ellipse(size, (width * 0.22, height * 0.5, width * shape.uniform(0.4, 0.5), height * 0.78))
    picture.alpha_composite(flat(inside(patch, upper), product.accent, 1.05, 0.85))
    heel = outline.smooth(size, [(0.0, 0.3), (0.1, 0.34), (0.13, 0.6), (0.1, 0.86), (0.0, 0.86)])
    picture.alpha_composite(soft(inside(heel, upper), product.accent))
    opening = outline.smooth(
        size, [(0.07, 0.12), (0.14, collar + 0.02), (0.28, collar + 0.1), (0.26, 0.17), (0.14, 0.18)]
    )
    picture.alpha_composite(flat(opening, (26, 24, 26), 1, 1))
    pen = ImageDraw.Draw(picture)
    lace = (*_ink_on(product.body), 255)
    for step in range(4):
        x, y = width * (0.39 + 0.065 * step), height * (0.23 + 0.075 * step)
        pen.line((x, y, x - width * 0.035, y + height * 0.13), fill=lace, width=max(2, height // 32))
    sole = outline.smooth(
        size,
        [
            (0.02, 0.82),
            (0.3, 0.84),
            (0.6, 0.85),
            (0.98, 0.78),
            (0.995, 0.9),
            (0.9, 0.995),
            (0.5, 0.985),
            (0.06, 0.995),
            (0.01, 0.92),
        ],
    )
    light = product.accent if sum(product.accent) > 450 else (232, 230, 226)
    picture.alpha_composite(flat(sole, light, 1.1, 0.82))
    pen.line(
        (width * 0.03, height * 0.93, width * 0.97, height * 0.91),
        fill=(150, 148, 146, 255),
        width=max(1, height // 60),
    )
    return ImageOps.mirror(picture) if product.mirrored else picture


def _bag(product: Product, height: int, shape: random.Random) -> Image.Image:
    width = round(height * shape.uniform(0.95, 1.25))
    size = (width, height)
    top = shape.uniform(0.34, 0.44)
    inset = shape.uniform(0.03, 0.12)
    grip = width * shape.uniform(0.04, 0.06)
    handle = outline.ring(size, (width * 0.24, height * 0.01, width * 0.76, height * (2 * top - 0.05)), grip)
    picture = turned(handle, product.accent if shape.random() < 0.4 else product.body, 0.3)
    body = outline.smooth(
        size,
        [(inset, top), (0.5, top - 0.02), (1 - inset, top), (0.985, 0.72), (0.97, 0.95), (0.9, 0.985), (0.5, 0.99),
         (0.1, 0.985), (0.03, 0.95), (0.015, 0.72)],
    )  # fmt: skip
    picture.alpha_composite(soft(body, product.body))
    if shape.random() < 0.6:
        drop = shape.uniform(0.62, 0.74)
        flap = outline.smooth(
            size,
            [
                (inset, top),
                (0.5, top - 0.02),
                (1 - inset, top),
                (1 - inset * 0.6, drop - 0.1),
                (0.5, drop),
                (inset * 0.6, drop - 0.1),
            ],
        )
        picture.alpha_composite(soft(inside(flap, body), tuple(min(255, round(c * 1.1 + 8)) for c in product.body)))  # type: ignore[arg-type]
        clasp = outline.rounded(
            size, (width * 0.45, height * (drop - 0.06), width * 0.55, height * (drop + 0.04)), width * 0.012
        )
        picture.alpha_composite(flat(clasp, (214, 180, 96), 1.15, 0.8))
        field = (width * 0.26, height * (drop + 0.06), width * 0.74, height * 0.93)
    else:
        strap = outline.rounded(size, (0, height * (top + 0.12), width, height * (top + 0.19)), 0)
        picture.alpha_composite(soft(inside(strap, body), product.accent))
        field = (width * 0.2, height * (top + 0.24), width * 0.8, height * 0.9)
    _print(picture, product.brand, field, _ink_on(product.body), shape)
    return picture


_PAINTERS: Final[dict[Kind, Callable[[Product, int, random.Random], Image.Image]]] = {
    "bottle": _bottle,
    "box": _box,
    "tube": _tube,
    "mug": _mug,
    "shoe": _shoe,
    "bag": _bag,
}


def _label_colour(product: Product) -> Rgb:
    return (246, 243, 234) if product.colour != "white" else product.accent


def _ink_on(ground: Rgb) -> Rgb:
    red, green, blue = ground
    return _INK_DARK if 0.3 * red + 0.59 * green + 0.11 * blue > 140 else _INK_LIGHT


def _print(
    picture: Image.Image, text: str, field: tuple[float, float, float, float], ink: Rgb, shape: random.Random
) -> None:
    """Print the brand into a field of the picture, as large as it fits, with two thin lines of small print below."""
    left, top, right, bottom = field
    face = _LABEL_FACES[shape.randrange(len(_LABEL_FACES))]
    height = min((bottom - top) * 0.42, 90.0)
    if height < 8 or right - left < 12:
        return
    font = font_for_height(face, text, round(height))
    width = text_width(font, text)
    if width > right - left:
        font = SizedFont(font.file, max(6, int(font.size * (right - left) / width)))
        width = text_width(font, text)
    pen = ImageDraw.Draw(picture)
    baseline = round(top + (bottom - top) * 0.5)
    draw_text(pen, (round((left + right - width) / 2), baseline), text, font, ink)
    line = max(1, round((bottom - top) * 0.025))
    for share, length in ((0.66, 0.7), (0.78, 0.5)):
        y, half = top + (bottom - top) * share, (right - left) * length / 2
        middle = (left + right) / 2
        pen.rectangle((middle - half, y, middle + half, y + line), fill=(*ink, 150))
