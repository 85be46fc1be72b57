"""JSON Lines read as a stream: bounded memory, and every fault named with its file and line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from tliveomni_eval.evals.logs.log_error import LogError

LONGEST_LINE = 64 * 2**20
"""Bytes; a longer line is refused after reading this much of it, so a file of one huge line cannot fill the memory."""


class JsonLine(NamedTuple):
    """One object of a JSON Lines file.

    Attributes:
        number: Line number from 1.
        offset: Position of the line's first byte in the file.
        value: The object.
    """

    number: int
    offset: int
    value: dict[str, Any]


def read_json_lines(path: Path, longest_line: int = LONGEST_LINE) -> Iterator[JsonLine]:
    """Yields the objects of a JSON Lines file, one at a time; blank lines are passed over.

    `NaN` and `Infinity`, which Python's json writes, are accepted although strict JSON has no room for them: whoever
    uses a number decides whether it must be finite.

    Args:
        path: The file.
        longest_line: Longest line that is read, in bytes.

    Raises:
        LogError: If the file cannot be read, or a line is too long, is cut off, is not UTF-8, is not JSON or is not an
            object.
    """
    try:
        with path.open("rb") as file:
            offset = 0
            number = 0
            while line := file.readline(longest_line + 1):
                number += 1
                if len(line) > longest_line:
                    raise LogError(
                        f"line is longer than {longest_line >> 20} MiB, which no sample log is", path, number
                    )
                if line.strip():
                    yield JsonLine(number, offset, _parse_object(line, path, number))
                offset += len(line)
    except OSError as error:
        raise LogError(f"cannot be read: {error.strerror}", path) from error


def read_json_line_at(path: Path, offset: int, number: int) -> dict[str, Any]:
    """The object whose line begins at a known offset.

    Args:
        path: The file.
        offset: `JsonLine.offset` of an earlier reading.
        number: `JsonLine.number`, for the message of an error.

    Raises:
        LogError: As `read_json_lines` does; the file may have changed since.
    """
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return _parse_object(file.readline(LONGEST_LINE + 1), path, number)
    except OSError as error:
        raise LogError(f"cannot be read: {error.strerror}", path) from error


def read_json_file(path: Path, largest: int = 256 * 2**20) -> dict[str, Any]:
    """The object in a JSON file.

    Args:
        path: The file.
        largest: Largest file that is read, in bytes.

    Raises:
        LogError: If it cannot be read, is too large, is not UTF-8, is not JSON or is not an object.
    """
    try:
        if path.stat().st_size > largest:
            raise LogError(f"larger than {largest >> 20} MiB, which no results file is", path)
        return _parse_object(path.read_bytes(), path, None)
    except OSError as error:
        raise LogError(f"cannot be read: {error.strerror}", path) from error


def _parse_object(text: bytes, path: Path, number: int | None) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = _parse_leniently(text, path, number)
    if not isinstance(value, dict):
        raise LogError(f"must be a JSON object, got {type(value).__name__} {_excerpt(text)}", path, number)
    return value


def _parse_leniently(text: bytes, path: Path, number: int | None) -> Any:
    """Python's own parser: it takes `NaN` and escaped lone surrogates, and says where a fault is."""
    try:
        value = json.loads(text.decode("utf-8"))
        return _without_lone_surrogates(value) if b"\\u" in text else value
    except UnicodeDecodeError as error:
        raise LogError(f"not UTF-8: byte 0x{text[error.start]:02x} at position {error.start}", path, number) from error
    except json.JSONDecodeError as error:
        place = number if number is not None else error.lineno
        if number is not None and not text.endswith(b"\n"):
            reason = f"the last line is cut off at column {error.colno}: the run was interrupted or the disk was full"
        else:
            reason = f"not JSON: {error.msg} at column {error.colno}: {_excerpt(text[max(0, error.pos - 20) :])}"
        raise LogError(reason, path, place) from error
    except (ValueError, RecursionError) as error:
        raise LogError(f"not readable as JSON: {error}", path, number) from error


def _without_lone_surrogates(value: Any) -> Any:
    """The value with U+FFFD in place of half a surrogate pair, which no UTF-8 file or terminal can hold."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_lone_surrogates(key): _without_lone_surrogates(item) for key, item in value.items()}
    return value


def _excerpt(text: bytes) -> str:
    return repr(text[:60].decode("utf-8", "replace").strip())
