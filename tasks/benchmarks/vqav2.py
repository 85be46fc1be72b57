"""VQAv2 validation: the official question and annotation files beside the COCO pictures, or Parquet files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tliveomni_eval.tasks.benchmarks.table_rows import BenchmarkDataError, TableRow, read_parquet, table_files
from tliveomni_eval.tasks.manifest import Media, Sample

_INSTRUCTION = "Answer the question using a single word or phrase."
_QUESTIONS, _ANNOTATIONS = "*OpenEnded*questions.json", "*annotations.json"


def read_vqav2(folder: Path, task: str) -> list[Sample]:
    """All questions of the validation split.

    Args:
        folder: Folder with `v2_OpenEnded_mscoco_val2014_questions.json`, `v2_mscoco_val2014_annotations.json` and the
            pictures in `val2014`; or with `validation-*.parquet`.
        task: Name of the task.

    Raises:
        BenchmarkDataError: Files are absent, or a row is faulty; the message names it.
    """
    return [_sample(folder, task, row) for row in _rows(folder)]


def _rows(folder: Path) -> Iterator[TableRow]:
    questions = sorted(folder.rglob(_QUESTIONS)) if folder.is_dir() else []
    if not questions:
        files = [file for file in table_files(folder, (".parquet",)) if "validation" in file.name or file == folder]
        if not files:
            raise BenchmarkDataError(f"{folder}: neither {_QUESTIONS} nor validation-*.parquet is there")
        for file in files:
            yield from read_parquet(folder, file)
        return
    annotations = sorted(folder.rglob(_ANNOTATIONS))
    if not annotations:
        raise BenchmarkDataError(f"{folder}: {questions[0].name} is there, but no {_ANNOTATIONS}")
    answers = {item["question_id"]: item for item in _items(annotations[0], "annotations")}
    for number, item in enumerate(_items(questions[0], "questions"), start=1):
        row = TableRow(questions[0], number, {**answers.get(item["question_id"], {}), **item}, {})
        if "answers" not in row.cells:
            raise row.fault("question_id", f"{item['question_id']} has no annotation in {annotations[0].name}")
        yield row


def _items(file: Path, key: str) -> list[dict[str, Any]]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BenchmarkDataError(f"{file}: not JSON ({error}); download it again") from None
    items = content.get(key) if isinstance(content, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) and "question_id" in item for item in items):
        raise BenchmarkDataError(f"{file}: must hold a list {key!r} of objects with a question_id")
    return items


def _sample(folder: Path, task: str, row: TableRow) -> Sample:
    answers = row.cells.get("answers")
    if not isinstance(answers, list) or not answers or not all(isinstance(item, dict) for item in answers):
        raise row.fault("answers", f"must be the list of the annotators' answers, got {str(answers)[:40]!r}")
    image = row.images.get("image") or _picture(folder, row)
    return Sample(
        id=row.needed("question_id"),
        task=task,
        media=(Media(type="image", path=image),),
        prompt=f"{row.needed('question')}\n{_INSTRUCTION}",
        reference=[str(item.get("answer", "")) for item in answers],
        slices={"answer_type": row.text("answer_type") or "other"},
        cluster=row.needed("image_id"),
    )


def _picture(folder: Path, row: TableRow) -> str:
    number = row.whole_number("image_id")
    names = (f"COCO_val2014_{number:012d}.jpg", f"{number:012d}.jpg", f"COCO_val2014_{number:012d}.png")
    for name in names:
        for path in (Path("val2014") / name, Path("images") / name, Path(name)):
            if (folder / path).is_file():
                return path.as_posix()
    raise row.fault("image_id", f"there is no picture val2014/{names[0]} in {folder}")
