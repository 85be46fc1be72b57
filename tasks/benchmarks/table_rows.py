"""Rows of a benchmark's table, from a TSV or from Parquet files, streamed and without their images.

An image cell is never read here; the row has the path by which `packed_image` finds it.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.tasks.packed_image import parquet_image_path, tsv_image_path

_TAB, _NEWLINE, _QUOTE = b"\t", b"\n", b'"'


class BenchmarkDataError(UserError):
    """Benchmark data that cannot be used; the message names file, row and column."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row.

    Attributes:
        file: The file it stands in.
        number: Row of that file's table, from 1 without the header.
        cells: Column, in lower case with `_` for `-`, to its value: text of a TSV, any value of a Parquet file.
        images: Column to the path of its image, relative to the data folder.
    """

    file: Path
    number: int
    cells: Mapping[str, Any]
    images: Mapping[str, str]

    def fault(self, column: str, problem: str) -> BenchmarkDataError:
        """An error that names this row and the column."""
        return BenchmarkDataError(f"{self.file}, row {self.number}, column {column}: {problem}")

    def text(self, column: str) -> str:
        """The cell as text; what tables write for an absent value (None, NaN, `nan`) is the empty text."""
        value = self.cells.get(column)
        text = "" if value is None or value != value else str(value).strip()
        return "" if text.lower() == "nan" else text

    def needed(self, column: str) -> str:
        """The cell as text.

        Raises:
            BenchmarkDataError: It is empty or the column is absent.
        """
        text = self.text(column)
        if not text:
            columns = ", ".join(self.cells)
            problem = "is empty" if column in self.cells else f"there is no such column among {columns}"
            raise self.fault(column, problem)
        return text

    def whole_number(self, column: str) -> int:
        """The cell as a whole number; `12.0` is one.

        Raises:
            BenchmarkDataError: It is none.
        """
        text = self.needed(column)
        digits = text.removesuffix(".0")
        if not digits.isascii() or not digits.isdigit():
            raise self.fault(column, f"must be a whole number, got {text[:40]!r}")
        return int(digits)


def column_name(name: str) -> str:
    """A column's name in one form: `L2-category` and `l2_category` are the same."""
    return name.strip().lower().replace("-", "_")


def read_tsv(folder: Path, file: Path, image_column: str = "image") -> Iterator[TableRow]:
    """Stream the rows of a TSV with a header; quoted cells may hold tabs and line ends.

    Args:
        folder: The data folder, for paths of images; may be the file itself.
        file: The TSV.
        image_column: Its cells are not read, only located.

    Raises:
        BenchmarkDataError: The file is empty, a row has another number of cells than the header, or is not UTF-8.
    """
    if file.stat().st_size == 0:
        raise BenchmarkDataError(f"{file} has 0 bytes; download it again")
    file_name = "" if folder == file else file.relative_to(folder).as_posix()
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        start = 3 if content[:3] == b"\xef\xbb\xbf" else 0
        rows = _spans(content, start, file)
        header = [column_name(_decoded(content, span, file, 0, "header")) for span in next(rows)]
        if image_column not in header:
            raise BenchmarkDataError(f"{file}: the header has no column {image_column!r}, it has {', '.join(header)}")
        for number, spans in enumerate(rows, start=1):
            if len(spans) != len(header):
                raise BenchmarkDataError(
                    f"{file}, row {number}: {len(spans)} cells where the header has {len(header)}; "
                    "the file may be cut off, download it again"
                )
            cells, images = {}, {}
            for column, span in zip(header, spans, strict=True):
                if column != image_column or span[1] - span[0] <= 64:
                    cells[column] = _decoded(content, span, file, number, column)
                if column == image_column and span[1] > span[0]:
                    images[column] = tsv_image_path(file_name, number, *span)
            yield TableRow(file, number, cells, images)


def _spans(content: mmap.mmap, position: int, file: Path) -> Iterator[list[tuple[int, int]]]:
    """First byte and end of every cell of every row; of a quoted cell without its quotes."""
    size, number, line_end = len(content), 0, -1
    while position < size:
        row: list[tuple[int, int]] = []
        while True:
            if content[position : position + 1] == _QUOTE:
                begin, position = position + 1, _closing_quote(content, position + 1, file, number)
                row.append((begin, position))
                position += 1
                if content[position : position + 1] == b"\r":
                    position += 1
            else:
                if line_end < position:
                    line_end = content.find(_NEWLINE, position)
                    line_end = size if line_end < 0 else line_end
                tab = content.find(_TAB, position, line_end)
                end = tab if tab >= 0 else line_end
                row.append((position, end - 1 if tab < 0 and content[end - 1 : end] == b"\r" else end))
                position = end
            follows = content[position : position + 1]
            position += 1
            if follows != _TAB:
                break
        if len(row) > 1 or row[0][1] > row[0][0]:
            yield row
        number += 1


def _closing_quote(content: mmap.mmap, position: int, file: Path, number: int) -> int:
    while True:
        position = content.find(_QUOTE, position)
        if position < 0:
            raise BenchmarkDataError(f"{file}, row {number}: a quoted cell does not end; the file is cut off")
        if content[position + 1 : position + 2] != _QUOTE:
            return position
        position += 2


def _decoded(content: mmap.mmap, span: tuple[int, int], file: Path, number: int, column: str) -> str:
    try:
        text = content[span[0] : span[1]].decode("utf-8")
    except UnicodeDecodeError:
        raise BenchmarkDataError(f"{file}, row {number}, column {column}: not UTF-8") from None
    quoted = span[0] > 0 and content[span[0] - 1 : span[0]] == _QUOTE
    return text.replace('""', '"') if quoted else text


def read_parquet(folder: Path, file: Path) -> Iterator[TableRow]:
    """Stream the rows of a Parquet file; columns of images (`{bytes, path}`) are located, not read.

    Args:
        folder: The data folder, for paths of images; may be the file itself.
        file: The Parquet file.

    Raises:
        BenchmarkDataError: The file is no Parquet file.
    """
    import pyarrow
    import pyarrow.parquet

    file_name = "" if folder == file else file.relative_to(folder).as_posix()
    try:
        table = pyarrow.parquet.ParquetFile(file)
        fields = list(table.schema_arrow)
        pictures = [field.name for field in fields if _holds_images(field.type)]
        others = [field.name for field in fields if field.name not in pictures]
        number = 0
        for batch in table.iter_batches(batch_size=256, columns=others):
            for values in batch.to_pylist():
                number += 1
                cells = {column_name(name): value for name, value in values.items()}
                images = {column_name(name): parquet_image_path(file_name, number, name) for name in pictures}
                yield TableRow(file, number, cells, images)
    except (pyarrow.ArrowException, OSError) as error:
        raise BenchmarkDataError(f"{file}: cannot be read as Parquet ({error}); download it again") from None


def _holds_images(kind: Any) -> bool:
    import pyarrow

    if pyarrow.types.is_binary(kind) or pyarrow.types.is_large_binary(kind):
        return True
    return bool(pyarrow.types.is_struct(kind) and kind.get_field_index("bytes") >= 0)


def table_files(folder: Path, suffixes: tuple[str, ...] = (".tsv", ".parquet")) -> list[Path]:
    """Tables of a data folder in the order of their names; the folder may be one of them."""
    if folder.is_file():
        return [folder] if folder.suffix in suffixes else []
    return sorted(path for path in folder.rglob("*") if path.suffix in suffixes and path.is_file())


def read_table(folder: Path, file: Path) -> Iterator[TableRow]:
    """Stream the rows of a TSV or Parquet file; see `read_tsv` and `read_parquet`."""
    return read_tsv(folder, file) if file.suffix == ".tsv" else read_parquet(folder, file)
