"""MMBench: questions of the official TSV, or of the Parquet files made from it, under all rotations.

The official files are of two kinds. Some list each question once; its rotations are made here. Others hold a row for
each rotation, at `index + i * 1,000,000`, as VLMEvalKit writes them; those are taken as they are, and a question that
lacks one of them stays incomplete, which the reports call missing. A row's image may be the index of another row, whose
image it is.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tliveomni_eval.evals.metrics.circular_eval import ROTATION_STRIDE, RotatedQuestion, rotations
from tliveomni_eval.evals.metrics.option_text import existing_options
from tliveomni_eval.tasks.benchmarks.table_rows import BenchmarkDataError, TableRow, read_table, table_files
from tliveomni_eval.tasks.choice_prompt import choice_prompt
from tliveomni_eval.tasks.manifest import Media, Sample

Language = Literal["en", "zh"]
_CHINESE_FILE = re.compile(r"(?:^|[_\-./])(?:cn|zh)(?=[_\-./]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Question:
    row: TableRow
    index: int
    options: dict[str, str]
    answer: str
    image: str


def read_mmbench(folder: Path, task: str, language: Language) -> list[Sample]:
    """All requests of MMBench in one language, rotations of a question side by side.

    Args:
        folder: Folder with the TSV or Parquet files, or one such file.
        task: Name of the task.
        language: Which files of the folder: those with `cn` in their name are Chinese.

    Raises:
        BenchmarkDataError: There is no such file, or several, or a row is faulty; the message names it.
    """
    rows = _rows(folder, language)
    questions, holders = [], {}
    for row in rows:
        question = _question(row)
        if question.image:
            holders[question.index] = question.image
        questions.append(question)
    if not questions:
        raise BenchmarkDataError(f"{folder}: no rows; download the file again")
    seen: dict[int, TableRow] = {}
    for question in questions:
        earlier = seen.setdefault(question.index, question.row)
        if earlier is not question.row:
            raise question.row.fault("index", f"{question.index} is also the index of row {earlier.number}")
    requests = _requests(questions)
    order = {question.index % ROTATION_STRIDE: place for place, question in reversed(list(enumerate(questions)))}
    requests.sort(key=lambda pair: (order[pair[1].index % ROTATION_STRIDE], pair[1].index))
    return [_sample(task, language, question, request, _image(question, holders)) for question, request in requests]


def _rows(folder: Path, language: Language) -> Iterator[TableRow]:
    files = table_files(folder)
    if not folder.is_file():
        files = [file for file in files if bool(_CHINESE_FILE.search(_inside(folder, file))) == (language == "zh")]
    tsv = [file for file in files if file.suffix == ".tsv"]
    if len(tsv) > 1:
        names = ", ".join(file.name for file in tsv)
        raise BenchmarkDataError(f"{folder} holds several files ({names}): name the one that is meant")
    if not files:
        kind = "*_CN*.tsv" if language == "zh" else "*.tsv without CN in its name"
        raise BenchmarkDataError(f"{folder}: no MMBench file; put {kind} or the Parquet files there")
    for file in tsv or files:
        yield from read_table(folder, file)


def _inside(folder: Path, file: Path) -> str:
    return file.relative_to(folder).with_suffix("").as_posix()


def _question(row: TableRow) -> _Question:
    index = row.whole_number("index")
    options = existing_options(
        {letter: row.text(letter.lower()) for letter in string.ascii_uppercase if letter.lower() in row.cells}
    )
    if len(options) < 2:
        raise row.fault("A", f"a question needs two options at least, index {index} has {len(options)}")
    answer = row.text("answer").upper()
    if not answer:
        raise row.fault("answer", f"is empty (index {index}); only splits with answers (dev) can be scored")
    if answer not in options:
        raise row.fault("answer", f"{answer!r} is none of the options {', '.join(options)} (index {index})")
    row.needed("question")
    return _Question(row, index, options, answer, row.images.get("image", "") if not _refers(row) else "")


def _refers(row: TableRow) -> bool:
    return 0 < len(str(row.cells.get("image", ""))) <= 12 and str(row.cells["image"]).isdigit()


def _image(question: _Question, holders: dict[int, str]) -> str:
    """The question's own image, that of the row it names, or that of the question's first rotation."""
    if question.image:
        return question.image
    row = question.row
    named = int(str(row.cells["image"])) if _refers(row) else question.index % ROTATION_STRIDE
    if named not in holders:
        problem = f"names the image of index {named}, which has none" if _refers(row) else "is empty"
        raise row.fault("image", f"{problem} (index {question.index})")
    return holders[named]


def _requests(questions: list[_Question]) -> list[tuple[_Question, RotatedQuestion]]:
    if any(question.index >= ROTATION_STRIDE for question in questions):
        return [(each, RotatedQuestion(each.index, each.options, each.answer)) for each in questions]
    requests = []
    for question in questions:
        texts = list(question.options.values())
        try:
            made: Iterable[RotatedQuestion] = rotations(
                question.index, texts, list(question.options).index(question.answer)
            )
        except ValueError as error:
            raise question.row.fault("A", str(error)) from None
        requests += [(question, request) for request in made]
    return requests


def _sample(task: str, language: Language, question: _Question, request: RotatedQuestion, image: str) -> Sample:
    row = question.row
    category, l2_category = row.text("category"), row.text("l2_category")
    slices = {"category": category, "l2_category": l2_category, "options": str(len(request.options))}
    return Sample(
        id=str(request.index),
        task=task,
        media=(Media(type="image", path=image),),
        prompt=choice_prompt(row.text("question"), request.options, language, row.text("hint")),
        reference=request.answer,
        slices={name: value for name, value in slices.items() if value},
        cluster=str(request.index % ROTATION_STRIDE),
        context={
            "index": request.index,
            "options": dict(request.options),
            "category": category,
            "l2_category": l2_category,
        },
    )
