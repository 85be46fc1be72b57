"""Draw a planned frame."""

import random

from PIL import Image
from tliveomni_eval.tasks.composer.card_layout import draw_card
from tliveomni_eval.tasks.composer.card_plan import CardPlan
from tliveomni_eval.tasks.composer.photographs import draw_background


def render_frame(rng: random.Random, plan: CardPlan) -> Image.Image:
    """The frame as an RGB image: background photograph, elements of the stream, the card on top."""
    frame = draw_background(rng, plan.size)
    for element in plan.elements:
        element.draw(frame)
    draw_card(frame, plan.card, plan.position, rng, plan.angle, plan.contrast)
    return frame
