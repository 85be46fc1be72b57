"""MMMU validation: the Parquet files of the dataset, in one folder or one a subject."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.metrics.choice_answer import letters_of
from tliveomni_eval.tasks.benchmarks.table_rows import BenchmarkDataError, TableRow, read_parquet, table_files
from tliveomni_eval.tasks.choice_prompt import choice_prompt
from tliveomni_eval.tasks.manifest import Media, Sample

IMAGE_TOKEN = re.compile(r"<image (\d+)>")
_OPEN_INSTRUCTION = "Answer the question using a single word or phrase."


def read_mmmu(folder: Path, task: str) -> list[Sample]:
    """All questions of the validation split.

    Args:
        folder: Folder with `validation-*.parquet`, at any depth, or one such file.
        task: Name of the task.

    Raises:
        BenchmarkDataError: There is no such file, or a row is faulty; the message names it.
    """
    files = [file for file in table_files(folder, (".parquet",)) if "validation" in file.name or file == folder]
    if not files:
        raise BenchmarkDataError(f"{folder}: no validation-*.parquet is there")
    return [_sample(task, row) for file in files for row in read_parquet(folder, file)]


def _sample(task: str, row: TableRow) -> Sample:
    name = row.needed("id")
    question, is_choice = row.needed("question"), row.needed("question_type") == "multiple-choice"
    options = letters_of(map(str, _listed(row, "options"))) if is_choice else {}
    answer: Any = row.needed("answer")
    if is_choice:
        if answer not in options:
            raise row.fault("answer", f"{answer!r} is none of the options {', '.join(options)} ({name})")
        prompt = choice_prompt(question, options, "en")
    else:
        answer = _listed(row, "answer") if answer.startswith("[") else [answer]
        prompt = f"{question}\n{_OPEN_INSTRUCTION}"
    numbers = list(dict.fromkeys(IMAGE_TOKEN.findall(prompt)))
    missing = [number for number in numbers if f"image_{number}" not in row.images]
    if missing:
        raise row.fault("question", f"shows <image {missing[0]}>, but there is no column image_{missing[0]} ({name})")
    subject = re.sub(r"^[a-z]+_|_\d+$", "", name)
    slices = {
        "subject": subject,
        "question_type": "choice" if is_choice else "open",
        "difficulty": row.text("topic_difficulty"),
    }
    return Sample(
        id=name,
        task=task,
        media=tuple(Media(type="image", path=row.images[f"image_{number}"]) for number in numbers),
        prompt=prompt,
        reference=answer if is_choice else [str(item) for item in answer],
        slices={attribute: value for attribute, value in slices.items() if value},
        context={"options": dict(options), "images": list(numbers)},
    )


def _listed(row: TableRow, column: str) -> list[Any]:
    """A list, or the Python notation of one, which is how the dataset stores it."""
    value = row.cells.get(column)
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            value = None
    if not isinstance(value, list) or not value:
        raise row.fault(column, f"must be a list, got {str(row.cells.get(column))[:60]!r}")
    return value
