"""Charts with a question about one of their values (`live_chart`)."""

import random
from itertools import product
from typing import Final

from tliveomni_eval.tasks.composer.chart import Chart, ChartKind, draw_chart
from tliveomni_eval.tasks.composer.picture_set import Picture, Question
from tliveomni_eval.tasks.composer.shelf_words import Script

SCRIPTS: Final[tuple[Script, ...]] = ("en", "zh")
FORMS: Final[tuple[tuple[ChartKind, str], ...]] = (
    ("bar", "axis"),
    ("bar", "printed"),
    ("line", "axis"),
    ("line", "printed"),
    ("pie", "printed"),
)
"""Chart and where its values stand; a pie without printed values cannot be read to 5 %."""

# The fonts hold the characters of the catalogue, so what a chart prints is made of these.
NAMES: Final[dict[Script, tuple[str, ...]]] = {
    "en": ("Cream", "Lipstick", "Coffee", "Nut Mix", "Hoodie", "Jeans", "Towel", "Pillow", "Earbuds", "Mouse"),
    "zh": ("面霜", "口红", "坚果", "饼干", "卫衣", "牛仔裤", "毛巾", "枕头", "耳机", "鼠标"),
}
TITLES: Final[dict[Script, tuple[str, ...]]] = {
    "en": ("Orders of today", "Sold last week", "Items in stock", "Orders by month"),
    "zh": ("今日下单件数", "已售件数", "库存件数", "每月下单"),
}
SHARE_TITLES: Final[dict[Script, str]] = {"en": "Share of orders", "zh": "今日下单 %"}
_PROMPTS: Final[dict[Script, tuple[str, str]]] = {
    "en": (
        "What is the value of {} in the chart? Answer with a number only, for example 35.",
        "What percentage does {} have in the chart? Answer with a number only, for example 35.",
    ),
    "zh": (
        "图表中{}的数值是多少？只输出一个数字，例如 35。",
        "图表中{}占百分之多少？只输出一个数字，例如 35。",
    ),
}


def compose_chart(number: int, rng: random.Random) -> Picture:
    """The picture of a number; 10 consecutive ones hold each chart form and language once."""
    (kind, labels), script = list(product(FORMS, SCRIPTS))[number % (len(FORMS) * len(SCRIPTS))]
    count = rng.randint(4, 5)
    names = rng.sample(NAMES[script], count)
    step = rng.choice((5, 10, 20, 50))
    if kind == "pie":
        values = _shares(rng, count)
    elif labels == "axis":
        # Values lie on a grid line or half way between two, so that they can be read without measuring.
        values = [step * rng.randint(2, 10) // 2 for _ in range(count)]
    else:
        values = [rng.randint(step, 5 * step) for _ in range(count)]
    titles = (SHARE_TITLES[script],) if kind == "pie" else TITLES[script]
    chart = Chart(kind, rng.choice(titles), tuple(names), tuple(values), 5 * step, step, labels == "printed")
    asked = rng.randrange(count)
    question = Question(
        suffix="",
        prompt=_PROMPTS[script][kind == "pie"].format(names[asked]),
        reference=str(values[asked]),
        slices={"chart": kind, "lang": script, "values": labels},
    )
    return Picture(draw_chart(rng, chart), (question,))


def _shares(rng: random.Random, count: int) -> list[int]:
    """Percentages of at least 8 that sum to 100."""
    free = 100 - 8 * count
    cuts = sorted(rng.randint(0, free) for _ in range(count - 1))
    return [8 + high - low for low, high in zip([0, *cuts], [*cuts, free], strict=True)]
