"""Small data sets in the official formats of public benchmarks, made of generated pictures."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

COLORS = ["red", "green", "blue", "orange", "purple", "black"]


def picture(color: str, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), color).save(buffer, kind)
    return buffer.getvalue()


def as_base64(color: str) -> str:
    return base64.b64encode(picture(color, "JPEG")).decode()


def mmbench_rows(questions: int = 6, language: str = "en") -> list[dict[str, Any]]:
    """Questions with 2, 3 and 4 options; options that do not exist are absent, as pandas writes them."""
    rows = []
    for number in range(questions):
        size = 2 + number % 3
        options = [COLORS[(number + place) % 6] for place in range(size)]
        rows.append(
            {
                "index": 240 + number,
                "question": "图中是什么颜色？" if language == "cn" else 'Which colour is shown?\nSay "one".',
                "hint": "a\tplain\narea" if number == 1 else float("nan"),
                **{letter: options[place] if place < size else float("nan") for place, letter in enumerate("ABCD")},
                "answer": "ABCD"[number % size],
                "category": "attribute_recognition" if number % 2 else "image_style",
                "image": as_base64(options[number % size]),
                "source": "generated",
                "l2-category": "coarse_perception",
                "comment": float("nan"),
                "split": "dev",
            }
        )
    return rows


def rotated(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a circular file: rotation i at index + i * 1,000,000, its image the index of the first row."""
    made = []
    for row in rows:
        letters = [letter for letter in "ABCD" if row[letter] == row[letter]]
        texts = [row[letter] for letter in letters]
        right = row[row["answer"]]
        for shift in range(len(texts)):
            moved = [*texts[shift:], *texts[:shift]]
            made.append(
                {
                    **row,
                    **dict(zip(letters, moved, strict=True)),
                    "index": row["index"] + 1_000_000 * shift,
                    "answer": letters[moved.index(right)],
                    "image": row["image"] if shift == 0 else str(row["index"]),
                }
            )
    return sorted(made, key=lambda row: int(row["index"]))


def write_tsv(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(list(rows)).to_csv(path, sep="\t", index=False)
    return path


def write_parquet(path: Path, rows: Sequence[Mapping[str, Any]], row_group_size: int = 4) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path, row_group_size=row_group_size)
    return path


def packed(color: str) -> dict[str, Any]:
    return {"bytes": picture(color), "path": f"{color}.png"}


def hallusion_rows() -> list[dict[str, Any]]:
    """One set of a visual dependent figure and its edited copy, and one visual supplement with and without figure."""
    rows = []
    for category, figures in (("VD", ("0", "1")), ("VS", ("0", "1"))):
        for figure in figures:
            for question in ("0", "1"):
                no_figure = category == "VS" and figure == "0"
                rows.append(
                    {
                        "category": category,
                        "subcategory": "chart",
                        "visual_input": "0" if no_figure else "1",
                        "set_id": "0",
                        "figure_id": figure,
                        "sample_note": "",
                        "question_id": question,
                        "question": f"Is bar {question} the longest?",
                        "gt_answer_details": "",
                        "gt_answer": "1" if question == figure else "0",
                        "filename": None if no_figure else f"./{category}/chart/0_{figure}.png",
                    }
                )
    return rows


def write_hallusionbench(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "HallusionBench.json").write_text(json.dumps(hallusion_rows()), encoding="utf-8")
    for row in hallusion_rows():
        if row["filename"]:
            path = folder / "hallusion_bench" / row["filename"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture("red"))
    return folder


def write_mmmu(folder: Path) -> Path:
    """A choice with an image in its text, one with images as options, and an open question with two answers."""
    common = {"subfield": "x", "topic_difficulty": "Easy", "explanation": "", "image_3": None}
    rows = [
        {
            "id": "validation_Basic_Medical_Science_1",
            "question": "What is shown in <image 1> on the left?",
            "options": "['a red area', 'a blue area']",
            "answer": "A",
            "question_type": "multiple-choice",
            "image_1": packed("red"),
            "image_2": None,
        },
        {
            "id": "validation_Art_2",
            "question": "Which one is green?",
            "options": "['<image 2>', '<image 1>']",
            "answer": "B",
            "question_type": "multiple-choice",
            "image_1": packed("green"),
            "image_2": packed("blue"),
        },
        {
            "id": "validation_Math_3",
            "question": "<image 1> How many corners?",
            "options": "[]",
            "answer": "['4', 'four']",
            "question_type": "open",
            "image_1": packed("black"),
            "image_2": None,
        },
    ]
    write_parquet(folder / "data" / "validation-00000-of-00001.parquet", [{**common, **row} for row in rows])
    return folder


def write_vqav2(folder: Path) -> Path:
    """The official pair of files and a picture; ten annotators, of whom three say blue and seven say light blue."""
    (folder / "val2014").mkdir(parents=True)
    questions = [{"image_id": 42, "question": "What colour is it?", "question_id": 42000}]
    answers = [{"answer": "blue" if number < 3 else "Light blue.", "answer_id": number + 1} for number in range(10)]
    annotations = [{"question_id": 42000, "image_id": 42, "answer_type": "other", "answers": answers}]
    (folder / "v2_OpenEnded_mscoco_val2014_questions.json").write_text(json.dumps({"questions": questions}))
    (folder / "v2_mscoco_val2014_annotations.json").write_text(json.dumps({"annotations": annotations}))
    (folder / "val2014" / "COCO_val2014_000000000042.jpg").write_bytes(picture("blue", "JPEG"))
    return folder


def write_realworldqa(folder: Path) -> Path:
    letters = "Please answer directly with only the letter of the correct option and nothing else."
    rows = [
        {"question": f"Where is it?\n\nA. left\nB. right\n{letters}", "answer": "B", "image": packed("red")},
        {
            "question": "How many cars? Please answer directly with a single number.",
            "answer": "2",
            "image": packed("red"),
        },
        {
            "question": "Can it turn? Please answer directly with a single word.",
            "answer": "Yes",
            "image": packed("red"),
        },
    ]
    write_parquet(folder / "data" / "test-00000-of-00001.parquet", rows)
    return folder
