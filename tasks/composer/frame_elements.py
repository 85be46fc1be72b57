"""What a live stream shows around the product card: the host's pill and the viewers' comments."""

import random
from dataclasses import dataclass
from typing import Protocol

from PIL import Image, ImageDraw
from tliveomni_eval.tasks.composer.card_layout import Segment, rounded_mask
from tliveomni_eval.tasks.composer.photographs import draw_thumbnail
from tliveomni_eval.tasks.composer.typefaces import Typeface, draw_text

Box = tuple[int, int, int, int]
_DARK = (14, 12, 18)
_WHITE = (255, 255, 255)
# Diameter of a round button in pixels.
_ICON = 26


def overlaps(one: Box, other: Box) -> bool:
    """Whether two boxes (left, top, right, bottom in pixels) share a pixel."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


class Element(Protocol):
    """Something outside the card."""

    @property
    def box(self) -> Box:
        """Left, top, right, bottom in pixels."""

    def draw(self, frame: Image.Image) -> None:
        """Draw into the frame, in place."""


@dataclass(frozen=True)
class HostPill:
    """The host's round picture, name and number of viewers on a translucent pill."""

    box: Box
    segment: Segment
    avatar: Image.Image

    @classmethod
    def at(cls, corner: tuple[int, int], text: str, face: Typeface, rng: random.Random) -> "HostPill":
        """The pill with its top left corner at the given pixel."""
        segment = Segment(text, face, rng.choice((11, 12)))
        height = segment.height_px + 10
        left, top = corner
        avatar = draw_thumbnail(rng, height - 4)
        return cls((left, top, left + height + segment.width + 8, top + height), segment, avatar)

    def draw(self, frame: Image.Image) -> None:
        """Draw into the frame, in place."""
        left, top, _, bottom = self.box
        _draw_translucent(frame, self.box, 0.55, (bottom - top) // 2)
        side = self.avatar.width
        frame.paste(self.avatar, (left + 2, top + 2), rounded_mask(side, side, side // 2))
        baseline = top + (bottom - top + self.segment.height_px) // 2 - 1
        draw_text(ImageDraw.Draw(frame), (left + side + 7, baseline), self.segment.text, self.segment.font, _WHITE)


@dataclass(frozen=True)
class Comment:
    """A viewer's comment on a translucent pill; a coloured dot stands for the viewer."""

    box: Box
    segment: Segment
    dot: tuple[int, int, int]

    @classmethod
    def above(cls, corner: tuple[int, int], text: str, face: Typeface, rng: random.Random) -> "Comment":
        """The comment with its bottom left corner at the given pixel."""
        segment = Segment(text, face, rng.choice((11, 12)))
        left, bottom = corner
        dot = (rng.randrange(120, 256), rng.randrange(120, 256), rng.randrange(120, 256))
        return cls((left, bottom - segment.height_px - 8, left + segment.width + 24, bottom), segment, dot)

    def draw(self, frame: Image.Image) -> None:
        """Draw into the frame, in place."""
        left, top, _, bottom = self.box
        _draw_translucent(frame, self.box, 0.5, 8)
        draw = ImageDraw.Draw(frame)
        middle = (top + bottom) // 2
        draw.ellipse((left + 6, middle - 4, left + 13, middle + 3), fill=self.dot)
        baseline = top + (bottom - top + self.segment.height_px) // 2 - 1
        draw_text(draw, (left + 18, baseline), self.segment.text, self.segment.font, _WHITE)


@dataclass(frozen=True)
class StreamIcons:
    """Round buttons without text at the right edge: a heart, a gift, a shopping bag."""

    box: Box
    kinds: tuple[str, ...]
    tint: tuple[int, int, int]

    @classmethod
    def above(cls, corner: tuple[int, int], rng: random.Random) -> "StreamIcons":
        """One to three buttons with the lowest one's bottom right corner at the given pixel."""
        kinds = tuple(rng.sample(("heart", "gift", "bag"), rng.randint(1, 3)))
        right, bottom = corner
        tint = rng.choice(((255, 70, 110), (255, 255, 255), (255, 200, 60)))
        return cls((right - _ICON, bottom - len(kinds) * (_ICON + 4) + 4, right, bottom), kinds, tint)

    def draw(self, frame: Image.Image) -> None:
        """Draw into the frame, in place."""
        left, top, right, _ = self.box
        for kind in self.kinds:
            _draw_translucent(frame, (left, top, right, top + _ICON), 0.45, _ICON // 2)
            draw = ImageDraw.Draw(frame)
            if kind == "heart":
                draw.ellipse((left + 6, top + 7, left + 13, top + 14), fill=self.tint)
                draw.ellipse((left + 12, top + 7, left + 19, top + 14), fill=self.tint)
                draw.polygon(((left + 6, top + 12), (left + 19, top + 12), (left + 12, top + 20)), fill=self.tint)
            elif kind == "gift":
                draw.rectangle((left + 6, top + 11, left + 19, top + 19), fill=self.tint)
                draw.line((left + 12, top + 8, left + 12, top + 19), fill=_DARK)
                draw.arc((left + 7, top + 5, left + 13, top + 12), 90, 360, fill=self.tint)
                draw.arc((left + 12, top + 5, left + 18, top + 12), 180, 90, fill=self.tint)
            else:
                draw.rounded_rectangle((left + 7, top + 10, left + 18, top + 20), 2, fill=self.tint)
                draw.arc((left + 9, top + 5, left + 16, top + 14), 180, 360, fill=self.tint)
            top += _ICON + 4


def _draw_translucent(frame: Image.Image, box: Box, opacity: float, radius: int) -> None:
    size = (box[2] - box[0], box[3] - box[1])
    behind = frame.crop(box)
    frame.paste(Image.blend(behind, Image.new("RGB", size, _DARK), opacity), box[:2], rounded_mask(*size, radius))
