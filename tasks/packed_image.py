"""Images that lie inside a larger file: a base64 cell of a TSV, a cell of a Parquet file.

Such an image has a path like a file's: `FILE/#row=12&bytes=8000-9200` or `FILE/#row=12&column=image`. The row is that
of the table, from 1 without the header, and stands in every message about the image.
"""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from tliveomni_eval.evals.errors import UserError

_MARK = "#row="


class PackedImageError(UserError):
    """An image inside a larger file that cannot be read; the message names file and row."""


def tsv_image_path(file_name: str, row: int, start: int, end: int) -> str:
    """Path of an image that is a base64 cell.

    Args:
        file_name: The TSV, relative to the data folder; empty where the data folder is the TSV itself.
        row: Row of the table, from 1.
        start: First byte of the cell in the file.
        end: The byte after its last.
    """
    return _joined(file_name, f"{_MARK}{row}&bytes={start}-{end}")


def parquet_image_path(file_name: str, row: int, column: str) -> str:
    """Path of an image that is a cell of a Parquet file; arguments as for `tsv_image_path`."""
    return _joined(file_name, f"{_MARK}{row}&column={quote(column, safe='')}")


def _joined(file_name: str, name: str) -> str:
    return f"{file_name}/{name}" if file_name else name


def is_packed(path: Path) -> bool:
    """Whether a path names an image inside a larger file."""
    return path.name.startswith(_MARK)


def image_bytes(path: Path) -> bytes:
    """The encoded bytes of an image inside a larger file.

    Raises:
        PackedImageError: The file is gone, or the cell holds no image; the message names both.
    """
    fields = {name: values[0] for name, values in parse_qs(path.name[1:]).items()}
    try:
        if "bytes" in fields:
            return _base64_cell(path.parent, *map(int, fields["bytes"].split("-")))
        return _parquet_cell(path.parent, int(fields["row"]), fields["column"])
    except (OSError, KeyError, IndexError, ValueError, binascii.Error) as error:
        reason = str(error) or type(error).__name__
        raise PackedImageError(f"{path.parent}, row {fields.get('row', '?')}: no image ({reason})") from None


def _base64_cell(file: Path, start: int, end: int) -> bytes:
    with file.open("rb") as opened:
        opened.seek(start)
        cell = opened.read(end - start)
    if cell.startswith(b"data:"):
        cell = cell.partition(b",")[2]
    content = base64.b64decode(cell, validate=True)
    if not content:
        raise ValueError("the cell is empty")
    return content


def _parquet_cell(file: Path, row: int, column: str) -> bytes:
    group, offset = _row_group(str(file), file.stat().st_mtime_ns, row - 1)
    cell: Any = _column_of_group(str(file), file.stat().st_mtime_ns, group, column)[offset].as_py()
    content = cell.get("bytes") if isinstance(cell, dict) else cell
    if not isinstance(content, bytes) or not content:
        raise ValueError(f"column {column!r} is empty")
    return content


@lru_cache(maxsize=4096)
def _row_group(file: str, modified_ns: int, row: int) -> tuple[int, int]:
    import pyarrow.parquet

    metadata = pyarrow.parquet.ParquetFile(file).metadata
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if row < rows:
            return group, row
        row -= rows
    raise IndexError("the file has fewer rows")


@lru_cache(maxsize=4)
def _column_of_group(file: str, modified_ns: int, group: int, column: str) -> Any:
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(file).read_row_group(group, columns=[column]).column(column)
