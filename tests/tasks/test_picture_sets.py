"""The generated picture sets: balanced, made by their generator, within their size, and right about what they show."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from tliveomni_eval.evals.metrics.circular_eval import ROTATION_STRIDE
from tliveomni_eval.tasks.composer import chart_picture, shelf
from tliveomni_eval.tasks.composer.alphabet import ALPHABET
from tliveomni_eval.tasks.composer.compose_command import command
from tliveomni_eval.tasks.composer.picture_commands import EMBEDDED_PICTURES, EMBEDDED_SEED
from tliveomni_eval.tasks.composer.picture_composers import COMPOSERS
from tliveomni_eval.tasks.composer.picture_set import compose_picture, manifest_lines
from tliveomni_eval.tasks.composer.product_shapes import COLORS, KINDS, pictogram
from tliveomni_eval.tasks.composer.shelf import Shelf, ShelfItem
from tliveomni_eval.tasks.composer.shelf_prices import distinct_prices
from tliveomni_eval.tasks.composer.shelf_words import COLOR_WORDS, KIND_WORDS
from tliveomni_eval.tasks.composer.spatial_picture import RELATIONS, related_item
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA
from tliveomni_eval.tasks.manifest import Sample, check_folder
from tliveomni_eval.tasks.task_index import read_task_index

TASKS = sorted(COMPOSERS)


def embedded(task: str) -> list[Sample]:
    samples, faults = check_folder(EMBEDDED_DATA / task, task)
    assert not faults
    return samples


def test_there_is_a_command_for_each_set() -> None:
    assert sorted(EMBEDDED_PICTURES) == TASKS
    assert set(TASKS) <= set(command.commands)


@pytest.mark.parametrize("task", TASKS)
def test_the_set_is_large_enough_and_its_files_are_small(task: str) -> None:
    samples = embedded(task)
    assert len({sample.cluster for sample in samples}) >= 200
    assert sum(path.stat().st_size for path in (EMBEDDED_DATA / task).rglob("*") if path.is_file()) < 2.6e6
    used = {Path(sample.media[0].path).name for sample in samples}
    assert {path.name for path in (EMBEDDED_DATA / task / "media").iterdir()} == used


@pytest.mark.parametrize("task", TASKS)
def test_slices_are_those_of_the_task_and_balanced(task: str) -> None:
    samples = embedded(task)
    declared = read_task_index()[task].metadata["slices"]
    assert all(set(sample.slices) == set(declared) for sample in samples)
    clusters = {sample.cluster: sample for sample in samples}.values()
    for attribute in ("lang", "count", "relation", "reason", "rows", "columns", "category"):
        counts = Counter(sample.slices[attribute] for sample in clusters if attribute in sample.slices)
        assert not counts or max(counts.values()) - min(counts.values()) <= 3, (attribute, counts)


@pytest.mark.parametrize("task", TASKS)
def test_the_generator_still_makes_the_set(task: str) -> None:
    folder = EMBEDDED_DATA / task
    manifest = (folder / "manifest.jsonl").read_bytes()
    record = json.loads((folder / "generator.json").read_text(encoding="utf-8"))
    assert record["manifest_sha256"] == hashlib.sha256(manifest).hexdigest()
    assert (record["pictures"], record["seed"]) == (EMBEDDED_PICTURES[task][0], EMBEDDED_SEED)
    lines = {line["id"]: line for line in map(json.loads, manifest.splitlines())}
    for number in range(0, record["pictures"], 41):
        picture = compose_picture(COMPOSERS[task], task, record["seed"], number)
        for line in manifest_lines(task, number, picture):
            assert lines[line["id"]] == line
        with Image.open(folder / line["media"][0]["path"]) as stored:
            difference = np.asarray(stored.convert("RGB"), float) - np.asarray(picture.image, float)
        # WebP and another Pillow's rounding may change pixels, another picture would change them far more.
        assert np.abs(difference).mean() < 6


def test_a_composed_folder_passes_the_check(tmp_path: Path) -> None:
    words = ["live_unanswerable", "--out", str(tmp_path / "set"), "--pictures", "3", "--seed", "4", "--workers", "1"]
    result = CliRunner().invoke(command, words, catch_exceptions=False)
    assert "6 samples" in result.output
    samples, faults = check_folder(tmp_path / "set", known_tasks=("live_unanswerable",))
    assert (len(samples), faults) == (6, [])
    again = CliRunner().invoke(command, words)
    assert "not empty" in str(again.exception)


def test_rotations_share_their_picture_and_the_right_text_stays_right() -> None:
    by_cluster: dict[str, list[Sample]] = {}
    for sample in embedded("mmbench_circular_mini"):
        by_cluster.setdefault(sample.cluster, []).append(sample)
    assert len(by_cluster) >= 120
    for rotations in by_cluster.values():
        options = [dict(sample.context["options"]) for sample in rotations]  # type: ignore[arg-type, call-overload]
        assert len(rotations) == len(options[0]) == int(rotations[0].slices["options"])
        texts = {listed[str(sample.reference)] for listed, sample in zip(options, rotations, strict=True)}
        assert len(texts) == 1
        assert len({str(sample.reference) for sample in rotations}) == len(rotations)
        assert len({sample.media for sample in rotations}) == 1
        indices = [int(str(sample.context["index"])) for sample in rotations]
        assert [index // ROTATION_STRIDE for index in indices] == list(range(len(rotations)))
    first_answers = Counter((len(rotations), str(rotations[0].reference)) for rotations in by_cluster.values())
    for size in (2, 3, 4):
        counts = [first_answers[size, letter] for letter in "ABCD"[:size]]
        assert min(counts) > 0.6 * max(counts)


def test_twins_ask_in_the_same_words_about_the_same_picture() -> None:
    by_cluster: dict[str, list[Sample]] = {}
    for sample in embedded("live_unanswerable"):
        by_cluster.setdefault(sample.cluster, []).append(sample)
    for twins in by_cluster.values():
        assert sorted(sample.slices["answerable"] for sample in twins) == ["no", "yes"]
        assert [sample.reference is None for sample in twins] == [
            sample.slices["answerable"] == "no" for sample in twins
        ]


def test_what_is_drawn_is_in_the_fonts() -> None:
    drawn = [*chart_picture.SHARE_TITLES.values()]
    drawn += [text for texts in (*chart_picture.NAMES.values(), *chart_picture.TITLES.values()) for text in texts]
    assert set("".join(drawn)) <= set(ALPHABET)
    assert {len(words) for words in KIND_WORDS.values()} == {len(KINDS)}
    assert all(set(words) == set(COLORS) for words in COLOR_WORDS.values())


def test_pictograms_of_kinds_and_colours_differ() -> None:
    images = {(kind, color): pictogram(kind, color, 32) for kind in KINDS for color in COLORS}
    assert len({image.tobytes() for image in images.values()}) == len(images)
    for kind in KINDS:
        masks = np.asarray(images[kind, "red"].getchannel("A"), float)
        others = [np.asarray(images[other, "red"].getchannel("A"), float) for other in KINDS if other != kind]
        assert min(np.abs(masks - other).mean() for other in others) > 12


def test_every_item_is_drawn_in_its_own_place() -> None:
    rng = random.Random(3)
    items = tuple(ShelfItem("mug", "red", column, row, "¥12") for column in range(4) for row in range(2))
    full = Shelf(4, 2, items)
    for item in items:
        without = Shelf(4, 2, tuple(other for other in items if other is not item))
        state = rng.getstate()
        whole = np.asarray(shelf.draw_shelf(rng, full), float)
        rng.setstate(state)
        # The random shifts are drawn item by item, so only the last item can be left out without moving others.
        if item is items[-1]:
            changed = np.abs(whole - np.asarray(shelf.draw_shelf(rng, without), float)).sum(axis=2) > 0
            rows, columns = np.nonzero(changed)
            x, y = full.center(item)
            width, height = full.cell
            assert x - width / 2 <= columns.min()
            assert columns.max() <= x + width / 2
            assert y - height / 2 <= rows.min()
            assert rows.max() <= y + height / 2


def test_relations_on_a_known_shelf() -> None:
    a, b, c, d = (
        ShelfItem("mug", "red", 0, 0),
        ShelfItem("cap", "red", 2, 0),
        ShelfItem("lamp", "red", 2, 1),
        ShelfItem("phone", "red", 3, 1),
    )
    known = Shelf(4, 2, (a, b, c, d))
    assert related_item(known, b, "left_of") is a
    assert related_item(known, a, "left_of") is None
    assert related_item(known, a, "right_of") is b
    assert related_item(known, c, "above") is b
    assert related_item(known, b, "below") is c
    assert related_item(known, a, "below") is None
    assert related_item(known, c, "nearest") is None
    sparse = Shelf(4, 2, (a, ShelfItem("cap", "red", 1, 0), d))
    assert related_item(sparse, a, "nearest") is sparse.items[1]
    assert len(RELATIONS) == 5


def test_prices_are_told_apart() -> None:
    for seed in range(50):
        prices = [int(price[1:]) for price in distinct_prices(random.Random(seed), 7)]
        ordered = sorted(prices)
        assert all(high - low > 0.08 * high for low, high in pairwise(ordered))


def test_pie_shares_sum_to_a_hundred() -> None:
    for seed in range(200):
        shares = chart_picture._shares(random.Random(seed), 5)
        assert sum(shares) == 100
        assert min(shares) >= 8
