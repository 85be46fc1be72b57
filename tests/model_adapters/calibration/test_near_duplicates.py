"""What is the same and what is not: pictures, texts, templates."""

from __future__ import annotations

import io

from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tliveomni_eval.model_adapters.calibration.near_duplicates import (
    NEAR_TEXT,
    PictureIndex,
    TextIndex,
    picture_hash,
    shingles,
)
from tliveomni_eval.model_adapters.calibration.prompt_templates import GAP, MOST_TEMPLATES, TemplateMiner
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA

PICTURES = sorted((EMBEDDED_DATA / "live_ocr" / "media").glob("*.webp"))[:40]


def copied(image):
    buffer = io.BytesIO()
    image.resize((image.width * 7 // 10, image.height * 7 // 10)).save(buffer, "JPEG", quality=50)
    return Image.open(buffer).convert("RGB")


def test_a_shrunk_and_compressed_copy_is_found_and_no_other_picture_is():
    images = [Image.open(path).convert("RGB") for path in PICTURES]
    for number, image in enumerate(images):
        index = PictureIndex()
        for other, name in zip(images, PICTURES, strict=True):
            if name != PICTURES[number]:
                index.add(picture_hash(other), name)
        assert index.nearest(picture_hash(copied(image))) is None
        index.add(picture_hash(image), "original")
        found = index.nearest(picture_hash(copied(image)))
        assert found is not None
        assert found[0] == "original"


def test_blank_pictures_are_no_copies_of_each_other():
    index = PictureIndex()
    index.add(picture_hash(Image.new("RGB", (64, 64), "white")), "white")
    assert index.nearest(picture_hash(Image.new("RGB", (64, 64), "black"))) is None


TEXTS = st.lists(st.text(alphabet="abcd 现价", min_size=0, max_size=30), min_size=1, max_size=15)


@settings(max_examples=150)
@given(TEXTS, st.text(alphabet="abcd 现价", max_size=30))
def test_prefix_filtering_finds_what_comparing_with_all_finds(texts, asked):
    index = TextIndex()
    for number, text in enumerate(texts):
        index.add(text, number)
    wanted = shingles(asked)
    similar = [len(wanted & shingles(t)) / len(wanted | shingles(t)) if wanted | shingles(t) else 0.0 for t in texts]
    found = index.nearest(asked)
    if max(similar) >= NEAR_TEXT:
        assert found is not None
        assert found[1] == max(similar)
    else:
        assert found is None


def test_case_width_and_punctuation_do_not_make_a_new_text():
    index = TextIndex()
    index.add("Read the PRICE: ¥12.50, please", "a")
    assert index.nearest("read the price ¥12.50 please!") == ("a", 1.0)
    assert index.nearest("count the red caps on the shelf") is None


def test_templates_are_the_words_that_recur():
    miner = TemplateMiner()
    kinds = [f"item{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]
    questions = [f"How many {kind}s are on the shelf?" for kind in kinds]
    questions += [f"货架上有多少个{chr(0x6000 + number)}？" for number in range(100)]
    for question in questions:
        miner.add("live_counting", question)
        miner.add("live_ocr", "Read the price." if len(question) % 2 else "读出价格")
    templates = miner.templates()
    found = {templates.of("live_counting", question) for question in questions}
    assert found == {f"How many {GAP} are on the shelf ?", f"货 架 上 有 多 少 个 {GAP} ？"}
    assert {templates.of("live_ocr", text) for text in ("Read the price.", "读出价格")} == {
        "Read the price.",
        "读出价格",
    }


def test_a_task_never_has_more_templates_than_the_bound():
    miner = TemplateMiner()
    prompts = [f"{chr(0x4E00 + a)}{chr(0x5E00 + b)}{chr(0x6E00 + a * b % 97)}" for a in range(40) for b in range(40)]
    for prompt in prompts:
        miner.add("task", prompt)
    templates = miner.templates()
    assert len({templates.of("task", prompt) for prompt in prompts}) <= MOST_TEMPLATES
