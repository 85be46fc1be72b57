"""A first look at manifests of any size: where each line lies and its stratum, in a few bytes a line."""

from __future__ import annotations

import hashlib
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.calibration.prompt_templates import TemplateMiner
from tliveomni_eval.model_adapters.calibration.sample_traits import TASK_PROMPT, line_traits
from tliveomni_eval.model_adapters.calibration.sensitivity import Weights
from tliveomni_eval.tasks.manifest import MANIFEST_NAME, MAX_LINE_BYTES

Progress = Callable[[int], None]
"""Called with the bytes read since the last call."""

SHOWN_FAULTS = 20
_REPORT_EVERY = 4 * 2**20

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


@dataclass
class _Columns:
    folder: array[int] = field(default_factory=lambda: array("i"))
    offset: array[int] = field(default_factory=lambda: array("q"))
    stratum: array[int] = field(default_factory=lambda: array("i"))
    cluster: array[int] = field(default_factory=lambda: array("q"))
    content: array[int] = field(default_factory=lambda: array("q"))


def scan_manifests(folders: Sequence[Path], weights: Weights, progress: Progress = lambda _: None) -> Scan:
    """Read manifests twice: for the templates of each task, then for the stratum of each line.

    No medium is opened, and a line is not checked beyond what is needed here: candidates are, later.

    Args:
        folders: Data folders.
        weights: Weight of a sample.
        progress: Told how far it is.

    Raises:
        UserError: A folder has no manifest.
    """
    miner = TemplateMiner()
    for folder in folders:
        for _, line in _objects(folder, progress):
            if isinstance(line, dict) and "template" not in (line.get("context") or {}):
                miner.add(str(line["task"]), line.get("prompt") or "")
    templates = miner.templates()
    columns, strata = _Columns(), dict[StratumKey, int]()
    seen_templates: dict[str, set[str]] = {}
    faults: list[str] = []
    faulty = 0
    for number, folder in enumerate(folders):
        for offset, line in _objects(folder, progress):
            if isinstance(line, str):
                faulty += 1
                if len(faults) < SHOWN_FAULTS:
                    faults.append(line)
                continue
            task = str(line["task"])
            declared = (line.get("context") or {}).get("template")
            prompt = line.get("prompt") or ""
            template = str(declared) if declared else templates.of(task, prompt) if prompt else TASK_PROMPT
            seen_templates.setdefault(task, set()).add(template)
            key = (line_traits(line, template), weights.of(task, line.get("slices") or {}))
            columns.folder.append(number)
            columns.offset.append(offset)
            columns.stratum.append(strata.setdefault(key, len(strata)))
            columns.cluster.append(zlib.crc32(str(line.get("cluster") or line.get("id")).encode(errors="replace")))
            columns.content.append(_content_hash(number, line))
    content = np.frombuffer(columns.content, dtype=np.int64) if columns.content else np.zeros(0, dtype=np.int64)
    kept = np.sort(np.unique(content, return_index=True)[1])
    return Scan(
        folders=folders,
        folder=np.array(columns.folder, dtype=np.int32)[kept],
        offset=np.array(columns.offset, dtype=np.int64)[kept],
        stratum=np.array(columns.stratum, dtype=np.int32)[kept],
        cluster=np.array(columns.cluster, dtype=np.int64)[kept],
        strata=list(strata),
        templates={task: len(found) for task, found in seen_templates.items()},
        repeats=len(content) - len(kept),
        faulty=faulty,
        faults=faults,
    )


def read_line(folder: Path, offset: int) -> bytes:
    """One line of a manifest by its first byte."""
    with (folder / MANIFEST_NAME).open("rb") as file:
        file.seek(offset)
        return file.readline(MAX_LINE_BYTES + 1)


def _objects(folder: Path, progress: Progress) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Offset of each line with its object, or with what is wrong with it."""
    path = folder / MANIFEST_NAME
    if not path.is_file():
        raise UserError(f"{folder}: there is no {MANIFEST_NAME} in it; give data folders (docs/data.md)")
    with path.open("rb") as file:
        offset = number = told = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                yield offset, f"{path} line {number}: longer than {MAX_LINE_BYTES} bytes"
                while line and not line.endswith(b"\n"):
                    offset += len(line)
                    line = file.readline(MAX_LINE_BYTES)
            elif line.strip():
                yield offset, _parsed(line, path, number)
            offset += len(line)
            if offset - told >= _REPORT_EVERY:
                progress(offset - told)
                told = offset
        progress(offset - told)


def _parsed(line: bytes, path: Path, number: int) -> dict[str, Any] | str:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return f"{path} line {number}: not JSON ({error})"
    if not isinstance(value, dict):
        return f"{path} line {number}: must be a JSON object"
    for name in ("id", "task"):
        if not isinstance(value.get(name), str) or not value[name]:
            return f"{path} line {number}, field {name}: must be a text that is not empty, got {value.get(name)!r:.80}"
    types = (("prompt", str), ("media", list), ("slices", dict), ("context", dict))
    for name, kind in types:
        if value.get(name) is not None and not isinstance(value[name], kind):
            return f"{path} line {number}, field {name}: must be {kind.__name__}, got {value[name]!r:.80}"
    if "reference" not in value:
        return f"{path} line {number}, field reference: missing; every sample needs it"
    return value


def _content_hash(folder: int, line: dict[str, Any]) -> int:
    """64 bits over what a model would see; equal media paths of different folders are different media."""
    media = line.get("media") or []
    content = orjson.dumps([folder if media else 0, line["task"], media, line.get("prompt"), line["reference"]])
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little", signed=True)
