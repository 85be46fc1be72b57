"""Outlines of products as masks: lathe profiles, smooth closed curves, rings."""

import numpy as np
from PIL import Image, ImageDraw

Point = tuple[float, float]


def blank(size: tuple[int, int]) -> Image.Image:
    """An empty mask."""
    return Image.new("L", size, 0)


def polygon(size: tuple[int, int], points: list[Point]) -> Image.Image:
    """A filled polygon; points in pixels."""
    mask = blank(size)
    ImageDraw.Draw(mask).polygon(points, fill=255)
    return mask


def lathe(size: tuple[int, int], profile: list[Point], bulge: float = 0.0) -> Image.Image:
    """A body of revolution seen from the side.

    Args:
        size: of the mask in pixels.
        profile: (height, radius) from top to bottom as shares of the mask's height and half width; between the points
            the radius is interpolated linearly.
        bulge: how far the lower end curves down, as a share of its radius: the round bottom seen from slightly above.
    """
    width, height = size
    depth = round(bulge * profile[-1][1] * width / 2)
    rows = np.arange(height)
    low = height - 1 - depth
    heights = np.array([min(y * height, low) for y, _ in profile])
    radius = np.interp(rows, heights, [r * width / 2 for _, r in profile], left=0, right=0)
    radius[(rows < heights[0]) | (rows > low)] = 0
    columns = np.abs(np.arange(width) + 0.5 - width / 2)
    filled = columns[None, :] < radius[:, None]
    mask = Image.fromarray((filled * 255).astype(np.uint8), "L")
    if depth > 0:
        bottom = profile[-1][1] * width / 2
        box = (width / 2 - bottom, low - depth, width / 2 + bottom - 1, low + depth)
        ImageDraw.Draw(mask).pieslice(box, 0, 180, fill=255)
    return mask


def smooth(size: tuple[int, int], points: list[Point], steps: int = 10) -> Image.Image:
    """A closed Catmull-Rom curve through the points, which are shares of width and height."""
    anchors = np.array([(x * size[0], y * size[1]) for x, y in points])
    count = len(anchors)
    t = np.linspace(0, 1, steps, endpoint=False)[:, None]
    curve = []
    for index in range(count):
        p0, p1, p2, p3 = (anchors[(index + offset) % count] for offset in (-1, 0, 1, 2))
        curve.append(
            0.5 * (2 * p1 + (p2 - p0) * t + (2 * p0 - 5 * p1 + 4 * p2 - p3) * t**2 + (3 * p1 - p0 - 3 * p2 + p3) * t**3)
        )
    return polygon(size, [(float(x), float(y)) for x, y in np.concatenate(curve)])


def ring(size: tuple[int, int], box: tuple[float, float, float, float], thickness: float) -> Image.Image:
    """An elliptical ring; box and thickness in pixels."""
    mask = blank(size)
    pen = ImageDraw.Draw(mask)
    pen.ellipse(box, fill=255)
    left, top, right, bottom = box
    if right - left > 2 * thickness and bottom - top > 2 * thickness:
        pen.ellipse((left + thickness, top + thickness, right - thickness, bottom - thickness), fill=0)
    return mask


def ellipse(size: tuple[int, int], box: tuple[float, float, float, float]) -> Image.Image:
    """A filled ellipse; box in pixels."""
    mask = blank(size)
    ImageDraw.Draw(mask).ellipse(box, fill=255)
    return mask


def rounded(size: tuple[int, int], box: tuple[float, float, float, float], radius: float) -> Image.Image:
    """A filled rounded rectangle; box and radius in pixels."""
    mask = blank(size)
    ImageDraw.Draw(mask).rounded_rectangle(box, radius, fill=255)
    return mask
