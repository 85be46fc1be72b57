"""The composer's parts: sides that share no product, texts with one reading, glyphs of the promised height."""

from __future__ import annotations

import random
import re
from itertools import product
from pathlib import Path

import pytest
from PIL import Image
from tliveomni_eval.tasks.composer import catalogue, degradations, photographs, typefaces
from tliveomni_eval.tasks.composer.alphabet import ALPHABET
from tliveomni_eval.tasks.composer.card_text import draw_name, draw_price, draw_sku, draw_table, table_as_markdown
from tliveomni_eval.tasks.composer.catalogue import CATEGORIES

COMPOSER = Path(catalogue.__file__).parent


@pytest.mark.parametrize("script", ["zh", "en"])
def test_brands_and_product_types_belong_to_one_side(script: str) -> None:
    drawn: dict[str, set[str]] = {}
    for side in ("train", "eval"):
        rng = random.Random(side)
        drawn[side] = {catalogue.draw_brand(rng, side, script) for _ in range(2000)}  # type: ignore[arg-type]
        for category, _ in product(CATEGORIES, range(200)):
            drawn[side].add(catalogue.draw_product_type(rng, side, category, script))  # type: ignore[arg-type]
    assert len(drawn["eval"]) > 100
    assert not drawn["train"] & drawn["eval"]


def test_no_evaluation_name_can_be_drawn_for_training() -> None:
    rng = random.Random(3)
    for category, lang in product(CATEGORIES, ("zh", "en", "mixed")):
        names = {draw_name(rng, "eval", category, lang) for _ in range(50)}  # type: ignore[arg-type]
        trained = {draw_name(rng, "train", category, lang) for _ in range(500)}  # type: ignore[arg-type]
        assert not names & trained


def test_every_category_can_serve_both_sides_and_languages() -> None:
    for category, side, script in product(CATEGORIES, ("train", "eval"), ("zh", "en")):
        assert catalogue.draw_product_type(random.Random(1), side, category, script)  # type: ignore[arg-type]


def test_skus_have_no_character_with_a_double() -> None:
    rng = random.Random(7)
    for _ in range(2000):
        sku = draw_sku(rng)
        assert re.fullmatch(r"[A-HJ-NP-Z0-9]+(-[A-HJ-NP-Z0-9]+)?", sku)
        assert 5 <= len(sku) <= 10
        for group in sku.split("-"):
            assert group.isdigit() or not set("01") & set(group)


@pytest.mark.parametrize(("lang", "signs"), [("zh", "¥"), ("mixed", "¥"), ("en", "¥$")])
def test_a_price_is_printed_with_the_digits_of_its_reference(lang: str, signs: str) -> None:
    rng = random.Random(11)
    for category, _ in product(CATEGORIES, range(100)):
        price = draw_price(rng, category, lang)  # type: ignore[arg-type]
        assert re.fullmatch(rf"[{re.escape(signs)}]\d+(\.\d{{1,2}})?", price.reference)
        assert price.reference[1:] in price.printed
        assert float(price.reference[1:]) == price.amount
        assert category.price_range[0] <= price.amount < category.price_range[1] + 1


def test_a_table_is_rectangular_and_its_first_column_tells_rows_apart() -> None:
    rng = random.Random(5)
    for category, rows, columns in product(CATEGORIES, (2, 3, 4), (2, 3)):
        cells = draw_table(rng, category, "mixed", rows, columns)
        assert [len(row) for row in cells] == [columns] * (rows + 1)
        assert len({row[0] for row in cells[1:]}) == rows
        assert all(cell and "|" not in cell for row in cells for cell in row)
        assert len(table_as_markdown(cells).split("\n")) == rows + 2


def test_markdown_of_a_table() -> None:
    assert table_as_markdown([["规格", "价格"], ["50ml", "¥9.9"]]) == "| 规格 | 价格 |\n| --- | --- |\n| 50ml | ¥9.9 |"


@pytest.mark.parametrize("face", typefaces.TYPEFACES, ids=lambda face: face.file)
def test_a_typeface_draws_every_character_that_it_claims(face: typefaces.Typeface) -> None:
    font = typefaces.SizedFont(face.file, 40)
    missing = typefaces.glyph(font, "￾").mask.tobytes()
    claimed = [c for c in ALPHABET if not c.isspace() and (face.covers_chinese or not typefaces.has_chinese(c))]
    for character in claimed:
        mask = typefaces.glyph(font, character).mask
        assert mask.getbbox() is not None, character
        assert mask.tobytes() != missing, character


@pytest.mark.parametrize("height", [11, 16, 30])
@pytest.mark.parametrize("face", typefaces.TYPEFACES, ids=lambda face: face.file)
def test_text_is_as_tall_as_asked(face: typefaces.Typeface, height: int) -> None:
    def ink_height(text: str) -> int:
        box = typefaces.glyph(typefaces.font_for_height(face, text, height), text).mask.getbbox()
        assert box is not None
        return box[3] - box[1]

    assert abs(ink_height("H") - height) <= 1.5
    if face.covers_chinese:
        assert 0.8 * height - 1 <= ink_height("围") <= height + 1


def test_degradations_keep_the_size_and_change_the_pixels() -> None:
    frame = photographs.draw_background(random.Random(2), (320, 192))
    for degrade in (degradations.compress_jpeg, degradations.blur):
        for seed in range(6):
            degraded = degrade(random.Random(seed), frame, 20)
            assert degraded.size == frame.size
            assert degraded.tobytes() != frame.tobytes()


def test_motion_blur_leaves_a_flat_frame_flat() -> None:
    flat = Image.new("RGB", (64, 32), (90, 120, 150))
    for seed in range(20):
        assert degradations.blur(random.Random(seed), flat, 30).getextrema() == ((90, 90), (120, 120), (150, 150))


def test_fonts_and_photographs_are_small_and_each_has_a_licence() -> None:
    for folder, limit in (("fonts", 3.0), ("backgrounds", 2.5)):
        files = [path for path in (COMPOSER / folder).iterdir() if path.suffix in (".otf", ".ttf", ".webp")]
        licences = (COMPOSER / folder / "LICENSES.md").read_text(encoding="utf-8")
        assert files
        assert sum(path.stat().st_size for path in files) < limit * 1e6
        assert [path.name for path in files if path.name not in licences] == []
    assert {face.file for face in typefaces.TYPEFACES} == {p.name for p in (COMPOSER / "fonts").glob("*.?tf")}
