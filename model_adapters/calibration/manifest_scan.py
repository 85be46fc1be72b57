"""A first look at manifests of any size: where each line lies and its stratum, in a few bytes a line."""

from __future__ import annotations

import hashlib
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.calibration.prompt_templates import TemplateMiner, Templates
from tliveomni_eval.model_adapters.calibration.sample_traits import TASK_PROMPT, line_traits
from tliveomni_eval.model_adapters.calibration.sensitivity import Weights
from tliveomni_eval.tasks.manifest import MANIFEST_NAME, MAX_LINE_BYTES

Progress = Callable[[int], None]
"""Called with the bytes read since the last call."""

SHOWN_FAULTS = 20
_PART_BYTES = 16 * 2**20
Result = TypeVar("Result")

StratumKey = tuple[tuple[tuple[str, str], ...], float]
"""Traits and weight."""


@dataclass
class Scan:
    """The lines of all manifests, column by column.

    Attributes:
        folders: Data folders.
        folder: Of each line, an index into `folders`.
        offset: First byte of each line in its manifest.
        stratum: Of each line, an index into `strata`.
        cluster: 32-bit hash of each line's cluster.
        strata: Traits and weight.
        templates: Number of templates by task.
        repeats: Lines that say the same as an earlier one (task, media, prompt and reference); they are left out.
        faulty: Lines that are no samples; they are left out.
        faults: The first of them in words.
    """

    folders: Sequence[Path]
    folder: NDArray[np.int32]
    offset: NDArray[np.int64]
    stratum: NDArray[np.int32]
    cluster: NDArray[np.int64]
    strata: list[StratumKey]
    templates: dict[str, int]
    repeats: int
    faulty: int
    faults: list[str]

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of one manifest, from the start of a line to the end of one."""

    number: int
    folder: Path
    start: int
    end: int


@dataclass
class _Columns:
    """What a part holds; `stratum` counts within it."""

    part: _Part
    offset: array[int] = field(default_factory=lambda: array("q"))
    stratum: array[int] = field(default_factory=lambda: array("i"))
    cluster: array[int] = field(default_factory=lambda: array("q"))
    content: array[int] = field(default_factory=lambda: array("q"))
    strata: dict[StratumKey, int] = field(default_factory=dict)
    templates: dict[str, set[str]] = field(default_factory=dict)
    lines: int = 0
    faulty: int = 0
    faults: list[tuple[int, str]] = field(default_factory=list)


def scan_manifests(folders: Sequence[Path], weights: Weights, progress: Progress = lambda _: None) -> Scan:
    """Read manifests twice: for the templates of each task, then for the stratum of each line.

    Large ones are read by one process a core. No medium is opened, and a line is not checked beyond what is needed
    here: candidates are, later.

    Args:
        folders: Data folders.
        weights: Weight of a sample.
        progress: Told how far it is.

    Raises:
        UserError: A folder has no manifest.
    """
    parts = [part for number, folder in enumerate(folders) for part in _parts(number, folder)]
    miner = TemplateMiner()
    for part, learnt in zip(parts, _each(_learn, parts), strict=True):
        miner.merge(learnt)
        progress(part.end - part.start)
    columns = []
    for found in _each(partial(_sort, templates=miner.templates(), weights=weights), parts):
        columns.append(found)
        progress(found.part.end - found.part.start)
    return _joined(folders, columns)


def _parts(number: int, folder: Path) -> list[_Part]:
    path = folder / MANIFEST_NAME
    if not path.is_file():
        raise UserError(f"{folder}: there is no {MANIFEST_NAME} in it; give data folders (docs/data.md)")
    size = path.stat().st_size
    edges = [0]
    with path.open("rb") as file:
        while edges[-1] < size:
            file.seek(min(size, edges[-1] + _PART_BYTES))
            file.readline()
            edges.append(file.tell())
    return [_Part(number, folder, start, end) for start, end in pairwise(edges)]


def _each(work: Callable[[_Part], Result], parts: Sequence[_Part]) -> Iterator[Result]:
    if len(parts) < 2:
        yield from map(work, parts)
        return
    with ProcessPoolExecutor(mp_context=get_context("forkserver")) as pool:
        yield from pool.map(work, parts)


def _learn(part: _Part) -> TemplateMiner:
    miner = TemplateMiner()
    for _, _, line in _objects(part):
        if line and isinstance(line, dict) and "template" not in (line.get("context") or {}):
            miner.add(str(line["task"]), line.get("prompt") or "")
    return miner


def _sort(part: _Part, templates: Templates, weights: Weights) -> _Columns:
    columns = _Columns(part)
    for number, offset, line in _objects(part):
        columns.lines = number
        if isinstance(line, str):
            columns.faulty += 1
            if len(columns.faults) < SHOWN_FAULTS:
                columns.faults.append((number, line))
            continue
        if not line:
            continue
        task, prompt = str(line["task"]), line.get("prompt") or ""
        declared = (line.get("context") or {}).get("template")
        template = str(declared) if declared else templates.of(task, prompt) if prompt else TASK_PROMPT
        columns.templates.setdefault(task, set()).add(template)
        key = (line_traits(line, template), weights.of(task, line.get("slices") or {}))
        columns.offset.append(offset)
        columns.stratum.append(columns.strata.setdefault(key, len(columns.strata)))
        columns.cluster.append(zlib.crc32(str(line.get("cluster") or line["id"]).encode(errors="replace")))
        columns.content.append(_content_hash(part.number, line))
    return columns


def _joined(folders: Sequence[Path], columns: Sequence[_Columns]) -> Scan:
    strata: dict[StratumKey, int] = {}
    templates: dict[str, set[str]] = {}
    faults: list[str] = []
    stratum, before = [], {number: 0 for number in range(len(folders))}
    for part in columns:
        own = np.array([strata.setdefault(key, len(strata)) for key in part.strata], dtype=np.int32)
        stratum.append(own[np.array(part.stratum, dtype=np.int64)] if len(own) else np.zeros(0, dtype=np.int32))
        for task, found in part.templates.items():
            templates.setdefault(task, set()).update(found)
        path, earlier = part.part.folder / MANIFEST_NAME, before[part.part.number]
        faults += [f"{path} line {earlier + number}{fault}" for number, fault in part.faults]
        before[part.part.number] += part.lines
    content = _column([part.content for part in columns], np.int64)
    kept = np.sort(np.unique(content, return_index=True)[1])
    folder = np.repeat([part.part.number for part in columns], [len(part.offset) for part in columns])
    return Scan(
        folders=folders,
        folder=folder.astype(np.int32)[kept],
        offset=_column([part.offset for part in columns], np.int64)[kept],
        stratum=np.concatenate([np.zeros(0, dtype=np.int32), *stratum])[kept],
        cluster=_column([part.cluster for part in columns], np.int64)[kept],
        strata=list(strata),
        templates={task: len(found) for task, found in templates.items()},
        repeats=len(content) - len(kept),
        faulty=sum(part.faulty for part in columns),
        faults=faults[:SHOWN_FAULTS],
    )


def _column(parts: Sequence[array[int]], kind: type[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(0, dtype=kind), *(np.array(part, dtype=kind) for part in parts)])


def read_line(folder: Path, offset: int) -> bytes:
    """One line of a manifest by its first byte."""
    with (folder / MANIFEST_NAME).open("rb") as file:
        file.seek(offset)
        return file.readline(MAX_LINE_BYTES + 1)


def _objects(part: _Part) -> Iterator[tuple[int, int, dict[str, Any] | str]]:
    """Number within the part, from 1, and offset of each line, with its object or what is wrong with it."""
    with (part.folder / MANIFEST_NAME).open("rb") as file:
        file.seek(part.start)
        offset, number = part.start, 0
        while offset < part.end and (line := file.readline()):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                yield number, offset, f": longer than {MAX_LINE_BYTES} bytes"
            else:
                yield number, offset, _parsed(line) if line.strip() else {}
            offset += len(line)


def _parsed(line: bytes) -> dict[str, Any] | str:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return f": not JSON ({error})"
    if not isinstance(value, dict):
        return ": must be a JSON object"
    for name in ("id", "task"):
        if not isinstance(value.get(name), str) or not value[name]:
            return f", field {name}: must be a text that is not empty, got {value.get(name)!r:.80}"
    types = (("prompt", str), ("media", list), ("slices", dict), ("context", dict))
    for name, kind in types:
        if value.get(name) is not None and not isinstance(value[name], kind):
            return f", field {name}: must be {kind.__name__}, got {value[name]!r:.80}"
    if "reference" not in value:
        return ", field reference: missing; every sample needs it"
    return value


def _content_hash(folder: int, line: dict[str, Any]) -> int:
    """64 bits over what a model would see; equal media paths of different folders are different media."""
    media = line.get("media") or []
    content = orjson.dumps([folder if media else 0, line["task"], media, line.get("prompt"), line["reference"]])
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little", signed=True)
