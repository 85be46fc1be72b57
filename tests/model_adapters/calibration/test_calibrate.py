"""`tlive calibrate` on small folders: coverage, weight, seed, and no evaluation data."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.calibration import calibrate_command
from tliveomni_eval.model_adapters.calibration.calibration_report import read_calibration_report
from tliveomni_eval.model_adapters.calibration.sensitivity import Weights, measured_weights
from tliveomni_eval.tasks import data_location
from tliveomni_eval.tasks.manifest import check_folder


def picture(path, seed, size=64):
    path.parent.mkdir(parents=True, exist_ok=True)
    coarse = np.random.default_rng(seed).integers(0, 256, (12, 12, 3), dtype=np.uint8)
    Image.fromarray(coarse).resize((size, size), Image.Resampling.BICUBIC).save(path, quality=90)


def write(folder, lines):
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "manifest.jsonl").write_text(text, encoding="utf-8")


def line(number, task="live_ocr", prompt="Read the price", reference="¥1", **other):
    fields = {"id": f"{task}-{number}", "task": task, "prompt": prompt, "reference": reference}
    return fields | {"slices": {"lang": "en"}} | other


@pytest.fixture
def folders(tmp_path, monkeypatch):
    evaluation, pool = tmp_path / "embedded" / "live_ocr", tmp_path / "pool"
    for number in range(3):
        picture(evaluation / f"e{number}.png", 10_000 + number)
    asked = {"id": "q", "task": "chat", "prompt": "What makes a good lamp for a small room?", "reference": "Warm light"}
    pictures = [line(number, media=[f"e{number}.png"], reference=f"¥{number}") for number in range(3)]
    write(evaluation, [*pictures, asked])
    lines = []
    for number in range(60):
        picture(pool / f"p{number}.jpg", number, 64 if number % 10 else 800)
        task = "live_ocr" if number % 2 else "live_spatial"
        lines.append(line(number, task, media=[f"p{number}.jpg"], slices={"lang": ["zh", "en", "mixed"][number % 3]},
                          reference=f"¥{number * 7}", context={"options": [f"¥{number * 7}", "¥5"]}))  # fmt: skip
    lines.append(line(61, "chat", prompt="Tell me of the kettle in three sentences", reference="It boils water."))
    write(pool, lines)
    monkeypatch.setattr(data_location, "EMBEDDED_DATA", tmp_path / "embedded")
    return evaluation, pool


def calibrate(*words):
    result = CliRunner().invoke(calibrate_command.command, [str(word) for word in words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def add(pool, *lines):
    with (pool / "manifest.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(item, ensure_ascii=False) + "\n" for item in lines)


def test_makes_a_data_folder_that_covers_everything(folders, tmp_path):
    _, pool = folders
    calibrate(pool, "--samples", 20, "--out", tmp_path / "out")
    samples, faults = check_folder(tmp_path / "out")
    assert faults == []
    assert len(samples) == 20
    report = read_calibration_report(tmp_path / "out")
    assert report.chosen == 20
    assert all(row.chosen > 0 for row in report.coverage)
    assert {row.dimension for row in report.coverage} >= {"task", "template", "modality", "language", "megapixels"}
    chosen = {row.task: row.chosen for row in report.tasks}
    assert chosen["live_ocr"] >= 1.5 * chosen["live_spatial"]
    assert report.unfilled == ["task chat: 1 of 5, all it has of 1 lines"]


def test_the_seed_decides(folders, tmp_path):
    _, pool = folders
    texts = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        calibrate(pool, "--samples", 20, "--seed", seed, "--out", tmp_path / name)
        texts.append((tmp_path / name / "manifest.jsonl").read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


def test_evaluation_data_is_refused_whatever_its_form(folders, tmp_path):
    evaluation, pool = folders
    image = Image.open(evaluation / "e1.png").convert("RGB")
    image.resize((48, 48)).save(pool / "near.jpg", quality=70)
    (pool / "exact.png").write_bytes((evaluation / "e0.png").read_bytes())
    add(
        pool,
        line("near", "planted_near", media=["near.jpg"]),
        line("exact", "planted_exact", media=["exact.png"]),
        line("text", "chat", prompt="what makes a GOOD lamp for a small room", reference="warm light!"),
        line("close", "chat", prompt="What makes a good lamp for a small room?", reference="Warm lights"),
    )
    calibrate(pool, "--samples", 64, "--out", tmp_path / "out")
    report = read_calibration_report(tmp_path / "out")
    found = {leak.id.split("-")[-1]: (leak.kind, leak.what, leak.evaluation) for leak in report.leaks}
    assert found == {
        "near": ("near", "image", "live_ocr live_ocr-1"),
        "exact": ("exact", "image", "live_ocr live_ocr-0"),
        "text": ("exact", "text", "chat q"),
        "close": ("near", "text", "chat q"),
    }
    written = {sample.id for sample in check_folder(tmp_path / "out")[0]}
    assert written.isdisjoint({leak.id for leak in report.leaks})
    assert "task planted_near" in {line.split(":")[0] for line in report.unfilled}


def test_nothing_but_evaluation_data_is_an_error(folders, tmp_path):
    evaluation, _ = folders
    with pytest.raises(UserError, match="4 are evaluation data"):
        calibrate(evaluation, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_copies_within_the_pool_count_once(folders, tmp_path):
    _, pool = folders
    for number in range(0, 10):
        image = Image.open(pool / f"p{number}.jpg").convert("RGB")
        image.save(pool / f"copy{number}.jpg", quality=60)
        add(pool, line(f"copy{number}", "live_ocr" if number % 2 else "live_spatial", media=[f"copy{number}.jpg"],
                       slices={"lang": ["zh", "en", "mixed"][number % 3]}, reference=f"¥{number * 7}"))  # fmt: skip
    add(pool, line(999, "chat", prompt="Tell me of the kettle in three sentences.", reference="It boils water."))
    calibrate(pool, "--samples", 100, "--out", tmp_path / "out")
    report = read_calibration_report(tmp_path / "out")
    assert (report.chosen, report.near_duplicates) == (61, 11)


def test_faulty_lines_and_media_are_counted_and_named(folders, tmp_path):
    _, pool = folders
    add(pool, {"id": "no reference", "task": "live_ocr"}, line("gone", "rare", media=["gone.jpg"]))
    (pool / "manifest.jsonl").open("a").write("{\n")
    calibrate(pool, "--samples", 100, "--out", tmp_path / "out")
    report = read_calibration_report(tmp_path / "out")
    assert (report.faulty, report.unusable) == (2, 1)
    assert any("line 62, field reference: missing" in fault for fault in report.faults)
    assert any("gone.jpg" in fault for fault in report.faults)


def test_does_not_write_over_something_else(folders, tmp_path):
    _, pool = folders
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious").write_text("x")
    with pytest.raises(UserError, match="no calibration set"):
        calibrate(pool, "--samples", 5, "--out", tmp_path / "out")


def test_a_measured_loss_weighs_its_slice(tmp_path):
    from tliveomni_eval.evals.gate.policy import Rule
    from tliveomni_eval.evals.gate.verdict import GateReport, RunSummary, SliceVerdict, Verdict

    rule = Rule(budget=0.015)
    losses = {"all": 0.015, "field=price": 0.045, "field=sku": -0.02, "field=name": 1.0}
    slices = [
        SliceVerdict(task="live_ocr", slice=name, metric="field_exact", outcome="BREACH", counts=True, gated=True,
                     rule=rule, loss=loss)
        for name, loss in losses.items()
    ]  # fmt: skip
    verdict = Verdict(outcome="BREACH", exit_status=1, summary="", baseline=RunSummary(path="a", name="a"),
                      candidate=RunSummary(path="b", name="b"), slices=slices)  # fmt: skip
    (tmp_path / "gate.json").write_text(GateReport.of([verdict]).model_dump_json())
    weights = Weights({"live_ocr": 2.0}, measured_weights(tmp_path / "gate.json"))
    assert weights.of("live_ocr", {}) == pytest.approx(2.0)
    assert weights.of("live_ocr", {"field": "price"}) == pytest.approx(4.0)
    assert weights.of("live_ocr", {"field": "sku"}) == pytest.approx(2.0)
    assert weights.of("live_ocr", {"field": "name"}) == 8.0
    assert weights.of("live_spatial", {}) == 1.0
    with pytest.raises(UserError, match="tlive gate --json"):
        (tmp_path / "no.json").write_text("{}")
        measured_weights(tmp_path / "no.json")
