"""What a data folder holds: samples, clusters, slices and media by task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tliveomni_eval.tasks.audio_file import audio_seconds
from tliveomni_eval.tasks.image_file import MediaError, image_size
from tliveomni_eval.tasks.manifest import Media, MediaType, Sample

FEWEST_CLUSTERS = 200
"""With nothing broken in n clusters the 95 % upper bound on the broken share is about 3/n: 1.5 % needs 200."""


@dataclass(frozen=True, slots=True)
class SliceSize:
    """One `attribute=value` of a task.

    Attributes:
        attribute: Name of the slice attribute.
        value: Its value.
        samples: Samples that have it.
        clusters: Independent ones among them.
    """

    attribute: str
    value: str
    samples: int
    clusters: int

    @property
    def too_small(self) -> bool:
        """Whether no outcome at all can PASS a budget of 1.5 % here."""
        return self.clusters < FEWEST_CLUSTERS


@dataclass(frozen=True, slots=True)
class MediaSize:
    """The files of one kind.

    Attributes:
        type: Image, audio or video.
        files: Different files.
        megabytes: Their size together, 10^6 bytes.
        unreadable: Files that could not be measured.
        unit: What is measured: `s` of audio, `px` of the longer side of an image; empty for video.
        least: Smallest measure; None where nothing was measured.
        median: Median.
        most: Largest.
        total: Sum, for audio.
    """

    type: MediaType
    files: int
    megabytes: float
    unreadable: int
    unit: str
    least: float | None
    median: float | None
    most: float | None
    total: float | None


@dataclass(frozen=True, slots=True)
class TaskStatistics:
    """One task of a folder."""

    task: str
    samples: int
    clusters: int
    without_prompt: int
    slices: tuple[SliceSize, ...]
    media: tuple[MediaSize, ...]
    reference_chars: tuple[int, int, int] = field(default=(0, 0, 0))
    """Least, median and most characters of the references that are text."""


def folder_statistics(folder: Path, samples: Iterable[Sample]) -> list[TaskStatistics]:
    """Count a folder, by task in the order of their first samples.

    Args:
        folder: Data folder.
        samples: Its good samples.
    """
    by_task: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_task[sample.task].append(sample)
    return [_task_statistics(folder, task, rows) for task, rows in by_task.items()]


def _task_statistics(folder: Path, task: str, samples: list[Sample]) -> TaskStatistics:
    clusters: dict[tuple[str, str], list[str]] = defaultdict(list)
    media: dict[MediaType, dict[str, Media]] = defaultdict(dict)
    for sample in samples:
        for item in sample.slices.items():
            clusters[item].append(sample.cluster)
        for part in sample.media:
            media[part.type][part.path] = part
    lengths = sorted(len(sample.reference) for sample in samples if isinstance(sample.reference, str))
    return TaskStatistics(
        task=task,
        samples=len(samples),
        clusters=len({sample.cluster for sample in samples}),
        without_prompt=sum(sample.prompt is None for sample in samples),
        slices=tuple(
            SliceSize(attribute, value, len(found), len(set(found)))
            for (attribute, value), found in sorted(clusters.items(), key=lambda item: _natural(item[0]))
        ),
        media=tuple(_media_size(folder, kind, sorted(files)) for kind, files in sorted(media.items())),
        reference_chars=(lengths[0], lengths[len(lengths) // 2], lengths[-1]) if lengths else (0, 0, 0),
    )


def _natural(item: tuple[str, str]) -> tuple[str, tuple[int, float, str]]:
    """Attributes by name; their values by the number they begin with, others before."""
    attribute, value = item
    number = ""
    for char in value:
        if not (char.isdigit() or (char == "." and "." not in number)):
            break
        number += char
    return attribute, (1, float(number), value) if number.strip(".") else (0, 0.0, value)


def _media_size(folder: Path, kind: MediaType, paths: list[str]) -> MediaSize:
    with ThreadPoolExecutor() as pool:
        measured = list(pool.map(lambda path: _measure(folder / path, kind), paths))
    values = sorted(value for value in measured if value is not None)
    return MediaSize(
        type=kind,
        files=len(paths),
        megabytes=sum((folder / path).stat().st_size for path in paths) / 1e6,
        unreadable=0 if kind == "video" else len(measured) - len(values),
        unit={"audio": "s", "image": "px"}.get(kind, ""),
        least=values[0] if values else None,
        median=values[len(values) // 2] if values else None,
        most=values[-1] if values else None,
        total=sum(values) if values and kind == "audio" else None,
    )


def _measure(path: Path, kind: MediaType) -> float | None:
    try:
        if kind == "audio":
            return audio_seconds(path)
        if kind == "image":
            return float(max(image_size(path)))
    except MediaError:
        pass
    return None


def as_json(statistics: TaskStatistics) -> dict[str, Any]:
    """The statistics of a task as a JSON object."""
    from dataclasses import asdict

    content = asdict(statistics)
    for row, size in zip(content["slices"], statistics.slices, strict=True):
        row["too_small"] = size.too_small
    return content
