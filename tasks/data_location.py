"""Which folder a task reads: the one the user points at, or the embedded set; and the fingerprint of what it holds."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tliveomni_eval.tasks.manifest import Sample
from tliveomni_eval.tasks.packed_image import image_bytes, is_packed

DATA_VARIABLE = "TLIVE_DATA"
EMBEDDED_DATA = Path(__file__).parent / "data"
_SHARED_DATA = {"live_selling_points": "live_temporal_grounding", "live_caption": "live_temporal_grounding"}
"""Tasks whose samples stand in the manifest of another task's embedded set, because they are about the same media."""


def embedded_folder(task: str) -> Path:
    """The folder of the embedded set that holds a task's samples; it need not exist.

    Args:
        task: Name of the task.
    """
    return EMBEDDED_DATA / _SHARED_DATA.get(task, task)


def data_folder(task: str, configured: str | None = None) -> Path:
    """The folder whose manifest a task reads.

    Args:
        task: Name of the task; without a configured folder it reads `embedded_folder`.
        configured: `dataset_kwargs: {data: …}` of the task's YAML, before the environment variable `TLIVE_DATA`.

    Raises:
        BenchmarkDataError: The task is on a public benchmark whose data is neither named nor to be had.
    """
    from tliveomni_eval.tasks.benchmarks.official_data import OFFICIAL_DATA, official_folder

    chosen = configured or os.environ.get(DATA_VARIABLE)
    if task in OFFICIAL_DATA:
        return official_folder(task, chosen)
    return Path(chosen).expanduser() if chosen else embedded_folder(task)


def data_fingerprint(folder: Path, samples: list[Sample]) -> str:
    """SHA-256 over the samples and the bytes of their media, in order.

    Args:
        folder: Data folder, or the file of a benchmark.
        samples: Samples of one task, whose media exist.

    Returns:
        64 hexadecimal digits.
    """
    paths = [folder / media.path for sample in samples for media in sample.media]
    with ThreadPoolExecutor() as pool:
        media_hashes = list(pool.map(_file_sha256, paths))
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(sample.model_dump_json().encode())
        digest.update(b"\n")
    for media_hash in media_hashes:
        digest.update(media_hash.encode())
    return digest.hexdigest()


def _file_sha256(path: Path) -> str:
    if is_packed(path):
        return hashlib.sha256(image_bytes(path)).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
