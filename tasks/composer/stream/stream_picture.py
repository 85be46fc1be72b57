"""Draw the frames of a planned stream."""

import random
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter
from tliveomni_eval.tasks.composer.photographs import draw_background
from tliveomni_eval.tasks.composer.products import outline
from tliveomni_eval.tasks.composer.products.product import KIND_NAMES, Kind, Product
from tliveomni_eval.tasks.composer.products.product_picture import product_picture
from tliveomni_eval.tasks.composer.products.shading import flat
from tliveomni_eval.tasks.composer.stream.clip import clip_frames
from tliveomni_eval.tasks.composer.stream.host import host_pictures
from tliveomni_eval.tasks.composer.stream.stream_plan import Offer, Shot, StreamPlan
from tliveomni_eval.tasks.composer.stream.stream_space import FRAME_SIZE
from tliveomni_eval.tasks.composer.typefaces import TYPEFACES, draw_text, font_for_height, text_width

Frame = npt.NDArray[np.uint8]
Painter = Callable[[int], Image.Image]
_WIDTH, _HEIGHT = FRAME_SIZE
_HEI_BOLD: Final = next(face for face in TYPEFACES if face.file == "hei-bold.otf")
# The embedded fonts hold the characters of live_ocr, not those of every product kind.
_CARD_NAMES_ZH: Final[dict[Kind, str]] = {"tube": "护手霜", "bag": "手包"}
_WITH_PRODUCTS: Final = ("coffee", "wine")
_RED: Final = (214, 32, 48)


def stream_frames(rng: random.Random, plan: StreamPlan) -> Iterator[Frame]:
    """Yield one RGB frame a tick, shape (height, width, 3)."""
    studio = _Studio(rng, plan)
    for shot in plan.shots:
        painter = studio.painter(shot)
        for tick in range(shot.start, shot.end):
            frame = painter(tick - shot.start)
            yield np.asarray(frame)


class _Studio:
    """What stays the same through a stream: host, background, table, and the badge in the corner."""

    def __init__(self, rng: random.Random, plan: StreamPlan) -> None:
        self._rng = rng
        self._plan = plan
        side = 150
        self._closed, self._open = host_pictures(rng, side)
        self._host_left = rng.choice((6, _WIDTH - side - 6))
        ground = draw_background(rng, FRAME_SIZE, without=_WITH_PRODUCTS).filter(ImageFilter.GaussianBlur(1.5))
        self._ground = ground
        self._table = rng.choice(((196, 172, 146), (226, 220, 212), (128, 98, 74), (206, 194, 202)))
        self._card_ink = rng.choice((_RED, (190, 40, 110), (216, 84, 20)))
        self._panel = rng.choice(((36, 44, 84), (150, 36, 60), (24, 92, 88), (96, 56, 128)))

    def painter(self, shot: Shot) -> Painter:
        """What draws the frames of a shot, given the tick from its start."""
        offer = self._plan.offers[shot.offer] if shot.offer is not None else None
        if shot.kind == "cutaway":
            return self._cutaway()
        if shot.kind == "transition":
            return self._transition(shot.end - shot.start)
        if offer is None:
            return self._host(None)
        if shot.kind == "host_with_product":
            return self._host(offer.product)
        if shot.kind == "close_up":
            return self._close_up(offer.product)
        return self._price_card(offer)

    def _host(self, product: Product | None) -> Painter:
        stages = []
        for picture in (self._closed, self._open):
            frame = self._ground.copy()
            frame.paste(picture, (self._host_left, _HEIGHT - picture.height + 6), picture)
            edge = _HEIGHT - 34
            table = flat(outline.rounded(FRAME_SIZE, (0, edge, _WIDTH, _HEIGHT), 0), self._table, 0.9, 1.05)
            frame.paste(table, (0, 0), table)
            if product is not None:
                drawn = _fitted(product, 104, 84)
                middle = _WIDTH - self._host_left - self._closed.width // 2
                middle = max(drawn.width // 2 + 4, min(_WIDTH - drawn.width // 2 - 4, middle))
                _paste_with_shadow(frame, drawn, middle - drawn.width // 2, _HEIGHT - 12 - drawn.height)
            _badge(frame)
            stages.append(frame)
        rhythm = [self._rng.random() < 0.5 for _ in range(64)]
        return lambda tick: stages[rhythm[tick // 3 % 64]]

    def _close_up(self, product: Product) -> Painter:
        ground = draw_background(self._rng, FRAME_SIZE, without=_WITH_PRODUCTS).filter(ImageFilter.GaussianBlur(5))
        drawn = _fitted(product, 220, 136)
        direction = self._rng.choice((-1, 1))
        left, top = (_WIDTH - drawn.width) // 2, (_HEIGHT - drawn.height) // 2 + 2

        @lru_cache(maxsize=32)
        def at(offset: int) -> Image.Image:
            frame = ground.copy()
            _paste_with_shadow(frame, drawn, left + offset, top)
            _badge(frame)
            return frame

        # The camera drifts one pixel each 0.4 s, and back again.
        return lambda tick: at(direction * (6 - abs(tick // 4 % 24 - 12)))

    def _price_card(self, offer: Offer) -> Painter:
        frame = self._ground.filter(ImageFilter.GaussianBlur(4))
        pen = ImageDraw.Draw(frame)
        pen.rounded_rectangle((14, 16, _WIDTH - 14, _HEIGHT - 14), 9, fill=(252, 250, 246))
        drawn = _fitted(offer.product, 92, 100)
        _paste_with_shadow(frame, drawn, 66 - drawn.width // 2, 80 - drawn.height // 2)
        zh = self._plan.lang == "zh"
        kind = offer.product.kind
        kind_name = _CARD_NAMES_ZH.get(kind, KIND_NAMES[kind][0]) if zh else KIND_NAMES[kind][1]
        name = offer.product.brand + ("" if zh else " ") + kind_name
        _write(pen, name, 122, 48, 16, 112, (50, 48, 52))
        _write(pen, "到手价" if zh else "Now only", 122, 70, 12, 112, (120, 116, 118))
        _write(pen, f"¥{offer.price}", 120, 112, 32, 116, self._card_ink)
        pen.rounded_rectangle((122, 122, 214, 138), 8, fill=self._card_ink)
        _write(pen, "立即购买" if zh else "Add to cart", 142, 134, 10, 60, (255, 255, 255))
        _badge(frame)
        return lambda tick: frame

    def _transition(self, length: int) -> Painter:
        text = "下一件" if self._plan.lang == "zh" else "NEXT"

        def at(tick: int) -> Image.Image:
            frame = Image.new("RGB", FRAME_SIZE, self._panel)
            pen = ImageDraw.Draw(frame)
            x = round(_WIDTH * (tick + 0.5) / length)
            light = tuple(min(255, channel + 60) for channel in self._panel)
            pen.polygon([(x - 50, 0), (x + 10, 0), (x - 20, _HEIGHT), (x - 80, _HEIGHT)], fill=light)
            _write(pen, text, 92, 92, 26, 100, (255, 255, 255))
            return frame

        return at

    def _cutaway(self) -> Painter:
        frames = clip_frames()
        start = self._rng.randrange(len(frames))

        def at(tick: int) -> Image.Image:
            # Forwards and backwards, so that the clip has no cut.
            position = (start + tick) % (2 * len(frames) - 2)
            frame = Image.fromarray(frames[min(position, 2 * len(frames) - 2 - position)])
            _badge(frame)
            return frame

        return at


def _fitted(product: Product, width: int, height: int) -> Image.Image:
    """The product as large as fits into a field in pixels."""
    probe = product_picture(product, height)
    return probe if probe.width <= width else product_picture(product, max(12, height * width // probe.width))


def _paste_with_shadow(frame: Image.Image, picture: Image.Image, left: int, top: int) -> None:
    pad = 10
    shadow = Image.new("L", (picture.width + 2 * pad, picture.height + 2 * pad), 0)
    shadow.paste(picture.getchannel("A").point(lambda value: value * 100 // 255), (pad + 2, pad + 3))
    frame.paste((14, 12, 16), (left - pad, top - pad), shadow.filter(ImageFilter.GaussianBlur(3)))
    frame.paste(picture, (left, top), picture)


def _badge(frame: Image.Image) -> None:
    pen = ImageDraw.Draw(frame)
    pen.rounded_rectangle((6, 5, 42, 18), 4, fill=_RED)
    pen.ellipse((10, 9, 14, 13), fill=(255, 255, 255))
    _write(pen, "LIVE", 17, 15, 8, 24, (255, 255, 255))


def _write(
    pen: ImageDraw.ImageDraw, text: str, left: int, baseline: int, height: int, width: int, ink: tuple[int, int, int]
) -> None:
    """Text at a height in pixels, smaller where it would be wider than `width`."""
    font = font_for_height(_HEI_BOLD, text, height)
    while text_width(font, text) > width and height > 7:
        height -= 1
        font = font_for_height(_HEI_BOLD, text, height)
    draw_text(pen, (left, baseline), text, font, ink)
