"""A folder of samples: `manifest.jsonl` beside its media, one sample a line, and a check that names every fault.

The same form holds the embedded data and a user's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator
from tliveomni_eval.evals.errors import UserError, nearest_name
from tliveomni_eval.evals.gate.printable import printable
from tliveomni_eval.tasks.media_limits import MAX_BYTES, path_refusal

MANIFEST_NAME = "manifest.jsonl"
MAX_LINE_BYTES = 1_000_000
MediaType = Literal["image", "audio", "video"]

EXTENSIONS: dict[str, MediaType] = {
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif"), "image"),
    **dict.fromkeys((".wav", ".flac", ".mp3", ".ogg", ".opus", ".m4a"), "audio"),
    **dict.fromkeys((".mp4", ".webm", ".mkv", ".mov"), "video"),
}

NonEmpty = Annotated[str, Field(min_length=1)]


class Media(BaseModel):
    """One file of a sample.

    Attributes:
        type: What the model is given: an image, audio, or a video.
        path: Relative to the manifest's folder, never outside it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: MediaType
    path: NonEmpty

    @field_validator("path")
    @classmethod
    def _stays_inside(cls, path: str) -> str:
        if reason := path_refusal(path):
            raise ValueError(f"{reason}, got {path!r}")
        return path


class Sample(BaseModel):
    """One line of a manifest.

    Attributes:
        id: Unique within its task.
        task: Name of the task that scores it, e.g. `live_ocr`.
        media: Files the model is given, in prompt order; a bare path is typed by its extension.
        prompt: Instruction; None takes the task's own.
        reference: What the task scores against: text, or the JSON the task documents.
        slices: Attribute to value.
        cluster: Samples that share one are not independent; the id by default.
        context: What else the task or the scorer needs, e.g. `field`, `lang`, `hotwords`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: NonEmpty
    task: NonEmpty
    media: tuple[Media, ...] = ()
    prompt: str | None = None
    reference: JsonValue
    slices: dict[str, str] = Field(default_factory=dict)
    cluster: str = ""
    context: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, line: Any) -> Any:
        if not isinstance(line, dict):
            return line
        line = dict(line)
        if isinstance(line.get("media"), list):
            line["media"] = [_typed_media(item) for item in line["media"]]
        if not line.get("cluster"):
            line["cluster"] = line.get("id", "")
        return line


def _typed_media(item: Any) -> Any:
    if not isinstance(item, str):
        return item
    media_type = EXTENSIONS.get(Path(item).suffix.lower())
    if media_type is None:
        raise ValueError(
            f"media {item!r}: cannot tell image, audio or video from the extension; "
            'write {"type": "image", "path": …} or use one of ' + " ".join(sorted(EXTENSIONS))
        )
    return {"type": media_type, "path": item}


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong in a manifest.

    Attributes:
        line: Line number from 1; 0 for the folder as a whole.
        field: Where in the line, e.g. `media.0.path`; empty for the line as a whole.
        message: What is wrong, with the value, and what to do.
    """

    line: int
    field: str
    message: str

    def __str__(self) -> str:
        place = f"line {self.line}" if self.line else "folder"
        # A key of a manifest may hold what a terminal obeys; a value stands in the message as its repr.
        return f"{place}{', field ' + printable(self.field, 200) if self.field else ''}: {self.message}"


class ManifestError(UserError):
    """A data folder that cannot be used; the message lists its faults.

    Args:
        folder: The data folder.
        faults: At least one.
        shown: How many faults the message spells out.
    """

    def __init__(self, folder: Path, faults: list[Fault], shown: int = 10) -> None:
        rest = len(faults) - shown
        lines = [f"{folder / MANIFEST_NAME}: {len(faults)} fault{'s' if len(faults) != 1 else ''}"]
        lines += [f"  {fault}" for fault in faults[:shown]]
        if rest > 0:
            lines.append(f"  … and {rest} more; `tlive data check {folder}` lists all")
        super().__init__("\n".join(lines))
        self.faults = faults


def read_lines(folder: Path) -> Iterator[tuple[int, Sample | Fault]]:
    """Yield every line of a manifest as a sample or as what is wrong with it.

    Args:
        folder: Data folder that holds `manifest.jsonl`.

    Raises:
        ManifestError: There is no readable manifest in the folder.
    """
    path = folder / MANIFEST_NAME
    if not folder.is_dir():
        raise ManifestError(folder, [Fault(0, "", f"{folder} is not a folder; point TLIVE_DATA at one")])
    if not path.is_file():
        raise ManifestError(
            folder, [Fault(0, "", f"there is no {MANIFEST_NAME}; write one sample a line, see docs/data.md")]
        )
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                yield number, Fault(number, "", f"longer than {MAX_LINE_BYTES} bytes; put media into files, not lines")
                while line and not line.endswith(b"\n"):
                    line = file.readline(MAX_LINE_BYTES)
                continue
            if line.strip():
                yield from ((number, item) for item in _parse_line(number, line))


def _parse_line(number: int, line: bytes) -> list[Sample | Fault]:
    try:
        content = json.loads(line)
    except UnicodeDecodeError as error:
        return [Fault(number, "", f"not UTF-8 (byte {error.start}); save the manifest as UTF-8")]
    except (ValueError, RecursionError) as error:
        return [Fault(number, "", f"not JSON: {error}")]
    try:
        return [Sample.model_validate(content)]
    except ValidationError as error:
        return [
            Fault(number, ".".join(map(str, fault["loc"])), _fault_message(fault))
            for fault in error.errors(include_url=False)
        ]


def _fault_message(fault: Any) -> str:
    if fault["type"] == "extra_forbidden":
        near = nearest_name(str(fault["loc"][-1]), list(Sample.model_fields))
        return "unknown field" + (f"; did you mean {near!r}?" if near else f"; known: {', '.join(Sample.model_fields)}")
    if fault["type"] == "missing":
        return "missing; every sample needs it"
    value = repr(fault.get("input"))
    return f"{fault['msg']}, got {value if len(value) <= 80 else value[:77] + '…'}"


def check_folder(
    folder: Path, task: str | None = None, known_tasks: tuple[str, ...] = ()
) -> tuple[list[Sample], list[Fault]]:
    """Read a whole manifest and look at each media file, without decoding it.

    Args:
        folder: Data folder.
        task: Only samples of this task are kept and looked at; faulty lines are always reported.
        known_tasks: Where given, a sample of any other task is a fault.

    Returns:
        The good samples in file order, and all faults.

    Raises:
        ManifestError: There is no readable manifest in the folder.
    """
    samples: list[Sample] = []
    faults: list[Fault] = []
    first_seen: dict[tuple[str, str], int] = {}
    root = folder.resolve()
    for number, item in read_lines(folder):
        if isinstance(item, Fault):
            faults.append(item)
            continue
        if task is not None and item.task != task:
            continue
        earlier = first_seen.setdefault((item.task, item.id), number)
        found = _media_faults(root, item, number) + _task_faults(item, number)
        if known_tasks and item.task not in known_tasks:
            near = nearest_name(item.task, known_tasks)
            hint = f"did you mean {near!r}?" if near else "`tlive tasks` lists all"
            found.append(Fault(number, "task", f"there is no task {item.task!r}; {hint}"))
        if earlier != number:
            found.append(
                Fault(number, "id", f"{item.id!r} is also the id of line {earlier}; ids pair samples between runs")
            )
        faults += found
        if not found:
            samples.append(item)
    return samples, faults


def _task_faults(sample: Sample, number: int) -> list[Fault]:
    """What the sample's task finds wrong in its reference and context, for tasks that look."""
    if sample.task in ("live_asr", "live_diarization"):
        from tliveomni_eval.tasks.speech_sample import speech_faults

        return speech_faults(sample, number)
    if sample.task in ("live_localization", "live_temporal_grounding"):
        from tliveomni_eval.tasks.grounding_sample import grounding_faults

        return grounding_faults(sample, number)
    if sample.task in ("live_selling_points", "live_caption"):
        from tliveomni_eval.tasks.fact_sample import fact_faults

        return fact_faults(sample, number)
    from tliveomni_eval.tasks.picture_sample import picture_faults

    return picture_faults(sample, number)


def _media_faults(root: Path, sample: Sample, number: int) -> list[Fault]:
    faults = []
    for index, media in enumerate(sample.media):
        field = f"media.{index}.path"
        if reason := _media_fault(root, media):
            faults.append(Fault(number, field, reason))
    return faults


def _media_fault(root: Path, media: Media) -> str:
    """What is wrong with a file that a sample names, told without opening it; empty where nothing is."""
    name = repr(media.path if len(media.path) <= 200 else media.path[:199] + "…")
    try:
        path = (root / media.path).resolve()
        if not path.is_relative_to(root):
            return f"{name} leads out of the data folder through a link"
        if not path.exists():
            return f"there is no file {name}"
        if not path.is_file():
            return f"{name} is not a plain file"
        size = path.stat().st_size
    except (OSError, RuntimeError, ValueError) as error:
        # A link to itself, a name too long, a folder that may not be entered.
        return f"{name} cannot be opened: {getattr(error, 'strerror', None) or error}"
    if size == 0:
        return f"{name} has 0 bytes"
    if size > MAX_BYTES[media.type]:
        return f"{name} has {size} bytes, more than the limit of {MAX_BYTES[media.type]} for {media.type}"
    return ""


def load_samples(folder: Path, task: str) -> list[Sample]:
    """Samples of one task, all of them good.

    Args:
        folder: Data folder. For a task on a public benchmark also a folder or file in the benchmark's official format.
        task: Name of the task.

    Raises:
        ManifestError: Anything is wrong in the folder, or it has no sample of the task.
        BenchmarkDataError: Anything is wrong in the files of a benchmark.
    """
    from tliveomni_eval.tasks.benchmarks.official_data import OFFICIAL_DATA

    if task in OFFICIAL_DATA and not (folder / MANIFEST_NAME).is_file():
        return OFFICIAL_DATA[task].read(folder, task)
    samples, faults = check_folder(folder, task)
    if faults:
        raise ManifestError(folder, faults)
    if not samples:
        raise ManifestError(
            folder, [Fault(0, "task", f"no sample of task {task!r}; unset TLIVE_DATA to use the embedded set")]
        )
    return samples
