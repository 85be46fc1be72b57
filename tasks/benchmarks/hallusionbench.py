"""HallusionBench: `HallusionBench.json` beside its pictures, or the Parquet files made from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tliveomni_eval.tasks.benchmarks.table_rows import (
    BenchmarkDataError,
    TableRow,
    column_name,
    read_parquet,
    table_files,
)
from tliveomni_eval.tasks.manifest import Media, Sample

_PICTURE_FOLDERS = (".", "hallusion_bench", "images")


def read_hallusionbench(folder: Path, task: str) -> list[Sample]:
    """All questions, those on a visual supplement without its figure included.

    Args:
        folder: Folder with `HallusionBench.json` and the pictures (or their folder `hallusion_bench`), or with Parquet
            files.
        task: Name of the task.

    Raises:
        BenchmarkDataError: There is no such file, or a row is faulty; the message names it.
    """
    rows = list(_rows(folder))
    samples = [_sample(folder, task, row) for row in rows]
    seen: dict[str, TableRow] = {}
    for sample, row in zip(samples, rows, strict=True):
        earlier = seen.setdefault(sample.id, row)
        if earlier is not row:
            raise row.fault("question_id", f"{sample.id} is also row {earlier.number} of {earlier.file.name}")
    return samples


def _rows(folder: Path) -> Iterator[TableRow]:
    listed = sorted(folder.rglob("HallusionBench*.json")) if folder.is_dir() else [folder]
    if listed and listed[0].suffix == ".json":
        try:
            content = json.loads(listed[0].read_text(encoding="utf-8"))
        except ValueError as error:
            raise BenchmarkDataError(f"{listed[0]}: not JSON ({error}); download it again") from None
        if not isinstance(content, list) or not all(isinstance(item, dict) for item in content):
            raise BenchmarkDataError(f"{listed[0]}: must be a list of objects")
        for number, item in enumerate(content, start=1):
            yield TableRow(listed[0], number, {column_name(name): value for name, value in item.items()}, {})
        return
    files = table_files(folder, (".parquet",))
    if not files:
        raise BenchmarkDataError(f"{folder}: neither HallusionBench.json nor Parquet files are there")
    for file in files:
        yield from read_parquet(folder, file)


def _sample(folder: Path, task: str, row: TableRow) -> Sample:
    category, subcategory = row.needed("category").upper(), row.needed("subcategory")
    if category not in ("VD", "VS"):
        raise row.fault("category", f"must be VD or VS, got {category[:20]!r}")
    gt_answer = row.needed("gt_answer")
    if gt_answer not in ("0", "1"):
        raise row.fault("gt_answer", f"must be 0 (no) or 1 (yes), got {gt_answer[:20]!r}")
    item = {
        "category": category,
        "subcategory": subcategory,
        "set_id": row.needed("set_id"),
        "figure_id": row.needed("figure_id"),
        "question_id": row.needed("question_id"),
    }
    cluster = f"{category}_{subcategory}_{item['set_id']}"
    return Sample(
        id=f"{cluster}_f{item['figure_id']}_q{item['question_id']}",
        task=task,
        media=_media(folder, row),
        prompt=row.needed("question"),
        reference="yes" if gt_answer == "1" else "no",
        slices={"category": category, "subcategory": subcategory},
        cluster=cluster,
        context=dict(item),
    )


def _media(folder: Path, row: TableRow) -> tuple[Media, ...]:
    if row.text("visual_input") == "0":
        return ()
    if "image" in row.images:
        return (Media(type="image", path=row.images["image"]),)
    name = PurePosixPath(row.needed("filename"))
    if name.is_absolute() or ".." in name.parts:
        raise row.fault("filename", f"must stay inside the data folder, got {str(name)!r}")
    root = folder if folder.is_dir() else folder.parent
    for place in _PICTURE_FOLDERS:
        path = PurePosixPath(place) / name
        if (root / path).is_file():
            return (Media(type="image", path=path.as_posix()),)
    raise row.fault("filename", f"there is no picture {str(name)!r} in {root}; unpack hallusion_bench.zip there")
