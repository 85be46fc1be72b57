"""HallusionBench, MMMU, VQAv2 and RealWorldQA from local folders in their official formats, scored in lmms-eval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lmms_eval.tasks
import pytest
from official_fixtures import (
    hallusion_rows,
    mmbench_rows,
    packed,
    write_hallusionbench,
    write_mmmu,
    write_parquet,
    write_realworldqa,
    write_tsv,
    write_vqav2,
)
from task_runs import load, run_task
from tliveomni_eval.evals.metrics.hallusionbench import HallusionItem, hallusion_accuracy
from tliveomni_eval.tasks.benchmarks.hallusionbench import read_hallusionbench
from tliveomni_eval.tasks.benchmarks.mmmu import read_mmmu
from tliveomni_eval.tasks.benchmarks.table_rows import BenchmarkDataError
from tliveomni_eval.tasks.benchmarks.vqav2 import read_vqav2
from tliveomni_eval.tasks.task_index import TASK_FOLDER


@pytest.fixture
def benchmarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_tsv(tmp_path / "mmbench" / "MMBench_DEV_EN.tsv", mmbench_rows())
    write_hallusionbench(tmp_path / "hallusionbench")
    write_mmmu(tmp_path / "mmmu")
    write_vqav2(tmp_path / "vqav2")
    write_realworldqa(tmp_path / "realworldqa")
    monkeypatch.delenv("TLIVE_DATA", raising=False)
    monkeypatch.setenv("TLIVE_BENCHMARKS", str(tmp_path))
    return tmp_path


def right(doc: dict[str, Any]) -> str:
    reference = json.loads(doc["reference"])
    return reference[0] if isinstance(reference, list) else str(reference)


def test_mmbench_right_and_always_a(benchmarks: Path) -> None:
    task = load("mmbench_circular_en")
    assert run_task(task, right)[0]["circular"] == 1
    numbers, _ = run_task(task, lambda doc: "A")
    assert numbers["circular"] == 0
    assert numbers["vanilla"] == pytest.approx(1 / 6)
    content = task.doc_to_messages(task.eval_docs[0])[0]["content"]
    assert [part["type"] for part in content] == ["image", "text"]


def test_hallusionbench_gives_the_official_three(benchmarks: Path) -> None:
    task = load("hallusionbench")
    items = [
        HallusionItem(
            row["category"], row["subcategory"], row["set_id"], row["figure_id"], row["question_id"],
            "yes" if row["gt_answer"] == "1" else "no",
        )
        for row in hallusion_rows()
    ]  # fmt: skip
    for model in (right, lambda doc: "Yes.", lambda doc: "It cannot be determined.", lambda doc: ""):
        expected = hallusion_accuracy((item, model(doc)) for item, doc in zip(items, task.eval_docs, strict=True))
        numbers, _ = run_task(task, model)
        assert numbers["aAcc"] == expected.answers.rate
        assert numbers["fAcc"] == expected.figures.rate
        assert numbers["qAcc"] == expected.questions.rate
    without_figure = task.eval_docs[4]
    assert [part["type"] for part in task.doc_to_messages(without_figure)[0]["content"]] == ["text"]


def test_mmmu_shows_images_where_the_text_names_them_and_never_guesses(benchmarks: Path) -> None:
    task = load("mmmu_val")
    assert run_task(task, right)[0]["accuracy"] == 1
    assert run_task(task, lambda doc: "I do not know, maybe all of them.")[0]["accuracy"] == 0
    first, options, _ = (task.doc_to_messages(doc)[0]["content"] for doc in task.eval_docs)
    assert [part["type"] for part in first] == ["text", "image", "text"]
    assert [part["type"] for part in options] == ["text", "image", "text", "image", "text"]
    blue, green = (part["url"].getpixel((1, 1)) for part in options if part["type"] == "image")
    assert (blue, green) == ((0, 0, 255), (0, 128, 0))
    line = task.process_results(task.eval_docs[0], ["hm"])
    assert line["record"]["status"] == "unparsed"
    assert line["record"]["slices"]["subject"] == "Basic_Medical_Science"
    open_line = task.process_results(task.eval_docs[2], ["The answer is four."])
    assert open_line["accuracy"]["num"] == 1


def test_vqav2_scores_as_lmms_eval_does(benchmarks: Path) -> None:
    from lmms_eval.tasks.vqav2.utils import vqav2_process_results

    task = load("vqav2")
    doc = task.eval_docs[0]
    annotators = json.loads(doc["reference"])
    for answer in ("blue", "Light blue", "a light blue", "red", "two"):
        theirs = vqav2_process_results(
            {"question_id": 1, "answers": [{"answer": text, "answer_id": n} for n, text in enumerate(annotators)]},
            [answer],
        )["exact_match"]
        assert task.process_results(doc, [answer])["vqa_accuracy"]["num"] == pytest.approx(theirs)
    assert doc["cluster"] == "42"


def test_realworldqa(benchmarks: Path) -> None:
    task = load("realworldqa")
    assert run_task(task, right)[0]["accuracy"] == 1
    answers = iter(["The answer is (B).", "two", "Yes, it can."])
    assert run_task(task, lambda doc: next(answers))[0]["accuracy"] == pytest.approx(2 / 3)


def test_our_task_is_taken_where_lmms_eval_has_one_of_the_same_name() -> None:
    theirs = Path(lmms_eval.tasks.__file__).parent / "mmmu"
    index = lmms_eval.tasks.TaskManager(include_defaults=False, include_path=[str(theirs)]).task_index
    assert "mmmu_val_reasoning" in index
    assert Path(index["mmmu_val"]["yaml_path"]).parent == TASK_FOLDER / "mmmu_val"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"gt_answer": "2"}, "row 1, column gt_answer: must be 0 .no. or 1 .yes., got '2'"),
        ({"category": "VX"}, "row 1, column category: must be VD or VS"),
        ({"filename": "../../x.png"}, "row 1, column filename: must stay inside"),
        ({"filename": "./VD/chart/9_9.png"}, "row 1, column filename: there is no picture"),
        ({"question_id": "1"}, "row 2, column question_id"),
    ],
)
def test_a_faulty_row_of_hallusionbench_is_named(tmp_path: Path, change: dict[str, str], says: str) -> None:
    folder = write_hallusionbench(tmp_path)
    rows = hallusion_rows()
    rows[0].update(change)
    (folder / "HallusionBench.json").write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(BenchmarkDataError, match=says):
        read_hallusionbench(folder, "hallusionbench")


def test_faulty_rows_of_mmmu_and_vqav2_are_named(tmp_path: Path) -> None:
    row = {
        "id": "validation_Art_1",
        "question": "<image 1>",
        "options": "['a', 'b']",
        "answer": "C",
        "question_type": "multiple-choice",
        "image_1": packed("red"),
    }
    write_parquet(tmp_path / "mmmu" / "validation.parquet", [row])
    with pytest.raises(BenchmarkDataError, match=r"row 1, column answer: 'C' is none of the options A, B"):
        read_mmmu(tmp_path / "mmmu", "mmmu_val")
    folder = write_vqav2(tmp_path / "vqav2")
    (folder / "val2014" / "COCO_val2014_000000000042.jpg").unlink()
    with pytest.raises(BenchmarkDataError, match="row 1, column image_id: there is no picture val2014/COCO"):
        read_vqav2(folder, "vqav2")
    (folder / "v2_mscoco_val2014_annotations.json").write_text("{")
    with pytest.raises(BenchmarkDataError, match=r"annotations\.json: not JSON"):
        read_vqav2(folder, "vqav2")
