"""Tables of a product's variants to be written down as Markdown (`live_table`)."""

import random
from itertools import product
from typing import Final

from tliveomni_eval.tasks.composer.card_layout import THEMES, Card, Table, draw_card
from tliveomni_eval.tasks.composer.card_text import Language, draw_table, table_as_markdown
from tliveomni_eval.tasks.composer.catalogue import CATEGORIES
from tliveomni_eval.tasks.composer.photographs import draw_background
from tliveomni_eval.tasks.composer.picture_set import Picture, Question
from tliveomni_eval.tasks.composer.prompts import prompt_for
from tliveomni_eval.tasks.composer.sample_space import LANGUAGES
from tliveomni_eval.tasks.composer.typefaces import TYPEFACES

TABLE_IMAGE_SIZE: Final = (448, 256)
ROWS: Final = ("2-3", "4-5", "6-7")
COLUMNS: Final = ("2", "3", "4")
_FACES: Final = tuple(face for face in TYPEFACES if face.covers_chinese and not face.is_display)
_THEMES: Final = ("white", "dark", "pink", "mint", "yellow")


def compose_table(number: int, rng: random.Random) -> Picture:
    """The picture of a number; 27 consecutive ones hold each number of rows and columns and each language once."""
    grid = list(product(ROWS, COLUMNS, LANGUAGES))
    rows, columns, lang = grid[number % len(grid)]
    cells, table = _fitting_table(rng, rows, int(columns), lang)
    card = Card((table,), THEMES[rng.choice(_THEMES)])
    image = draw_background(rng, TABLE_IMAGE_SIZE)
    free = [whole - own for whole, own in zip(TABLE_IMAGE_SIZE, card.size, strict=True)]
    draw_card(image, card, (rng.randint(0, free[0]), rng.randint(0, free[1])), rng)
    question = Question(
        suffix="",
        prompt=prompt_for("table", lang),
        reference=table_as_markdown(cells),
        slices={"columns": columns, "lang": lang, "rows": rows},
    )
    return Picture(image, (question,))


def _fitting_table(rng: random.Random, rows: str, columns: int, lang: Language) -> tuple[list[list[str]], Table]:
    fewest, most = map(int, rows.split("-"))
    while True:
        cells = draw_table(rng, rng.choice(CATEGORIES), lang, rng.randint(fewest, most), columns)
        table = Table(cells, rng.choice(_FACES), rng.randint(12, 16))
        size = Card((table,), THEMES["white"]).size
        if all(own <= whole - 8 for own, whole in zip(size, TABLE_IMAGE_SIZE, strict=True)):
            return cells, table
