"""RealWorldQA: the Parquet files of the dataset. Most questions list their options in the text."""

from __future__ import annotations

import re
from pathlib import Path

from tliveomni_eval.tasks.benchmarks.table_rows import BenchmarkDataError, TableRow, read_parquet, table_files
from tliveomni_eval.tasks.manifest import Media, Sample

_OPTION = re.compile(r"^\s*\(?([A-H])[.):]\s*(\S.*?)\s*$", re.MULTILINE)


def read_realworldqa(folder: Path, task: str) -> list[Sample]:
    """All questions.

    Args:
        folder: Folder with the Parquet files, or one such file.
        task: Name of the task.

    Raises:
        BenchmarkDataError: There is no such file, or a row is faulty; the message names it.
    """
    files = table_files(folder, (".parquet",))
    if not files:
        raise BenchmarkDataError(f"{folder}: no Parquet file is there")
    rows = [row for file in files for row in read_parquet(folder, file)]
    return [_sample(task, number, row) for number, row in enumerate(rows)]


def _sample(task: str, number: int, row: TableRow) -> Sample:
    question, answer = row.needed("question"), row.needed("answer")
    if "image" not in row.images:
        raise row.fault("image", "there is no such column")
    options = dict(_OPTION.findall(question))
    is_choice = answer.rstrip(".").upper() in options
    return Sample(
        id=f"{number:05d}",
        task=task,
        media=(Media(type="image", path=row.images["image"]),),
        prompt=question,
        reference=answer.rstrip(".").upper() if is_choice else answer,
        slices={"question_type": "choice" if is_choice else "open"},
        context={"options": options if is_choice else {}},
    )
