"""Which tasks read a benchmark's official files, where those are looked for, and how to get them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tliveomni_eval.tasks.benchmarks.hallusionbench import read_hallusionbench
from tliveomni_eval.tasks.benchmarks.mmbench import read_mmbench
from tliveomni_eval.tasks.benchmarks.mmmu import read_mmmu
from tliveomni_eval.tasks.benchmarks.realworldqa import read_realworldqa
from tliveomni_eval.tasks.benchmarks.table_rows import BenchmarkDataError
from tliveomni_eval.tasks.benchmarks.vqav2 import read_vqav2
from tliveomni_eval.tasks.manifest import Sample

BENCHMARKS_VARIABLE = "TLIVE_BENCHMARKS"


@dataclass(frozen=True, slots=True)
class OfficialData:
    """The official data of one task.

    Attributes:
        folder: Its folder below `TLIVE_BENCHMARKS`.
        hub_repository: Data set on the Hugging Face hub that is taken where a hub is reachable.
        hub_files: Which of its files.
        files: What the folder must hold, for messages.
        read: From the data folder (or a single file) and the name of the task to its samples.
    """

    folder: str
    hub_repository: str
    hub_files: str
    files: str
    read: Callable[[Path, str], list[Sample]]


OFFICIAL_DATA: dict[str, OfficialData] = {
    "mmbench_circular_en": OfficialData(
        "mmbench", "lmms-lab/MMBench", "en/dev*", "MMBench_DEV_EN.tsv", partial(read_mmbench, language="en")
    ),
    "mmbench_circular_cn": OfficialData(
        "mmbench", "lmms-lab/MMBench", "cn/dev*", "MMBench_DEV_CN.tsv", partial(read_mmbench, language="zh")
    ),
    "hallusionbench": OfficialData(
        "hallusionbench",
        "lmms-lab/HallusionBench",
        "data/*",
        "HallusionBench.json and hallusion_bench/",
        read_hallusionbench,
    ),
    "mmmu_val": OfficialData("mmmu", "lmms-lab/MMMU", "data/validation*", "validation-*.parquet", read_mmmu),
    "vqav2": OfficialData(
        "vqav2",
        "lmms-lab/VQAv2",
        "data/validation*",
        "v2_OpenEnded_mscoco_val2014_questions.json, v2_mscoco_val2014_annotations.json and val2014/",
        read_vqav2,
    ),
    "realworldqa": OfficialData("realworldqa", "lmms-lab/RealWorldQA", "data/*", "test-*.parquet", read_realworldqa),
}


def official_folder(task: str, chosen: str | None) -> Path:
    """Where the official data of a task is.

    Args:
        task: A key of `OFFICIAL_DATA`.
        chosen: Folder or file that the task's YAML or `TLIVE_DATA` names. A folder of several benchmarks is fine, if it
            has the task's folder. `TLIVE_BENCHMARKS` comes after it, and the hub last.

    Raises:
        BenchmarkDataError: It is nowhere; the message says how to get it.
    """
    data = OFFICIAL_DATA[task]
    named = [Path(place).expanduser() for place in (chosen, os.environ.get(BENCHMARKS_VARIABLE)) if place]
    for place in named:
        for folder in (place / data.folder, place):
            if folder.exists() and (folder != place or place == named[0] or _holds_tables(place)):
                return folder
    if named:
        raise BenchmarkDataError(f"{task}: there is no {named[0] / data.folder}. {how_to_get(task)}")
    return _from_hub(task)


def _holds_tables(folder: Path) -> bool:
    return folder.is_file() or any(path.suffix in (".tsv", ".parquet", ".json") for path in folder.iterdir())


def how_to_get(task: str) -> str:
    """A sentence that says how to get the data of a task."""
    data = OFFICIAL_DATA[task]
    return (
        f"Put {data.files} into a folder {data.folder!r} and let {BENCHMARKS_VARIABLE} name the folder above it, or, "
        f"where a hub is reachable: hf download {data.hub_repository} --repo-type dataset --include '{data.hub_files}' "
        f"--local-dir {data.folder}"
    )


def _from_hub(task: str) -> Path:
    from huggingface_hub import snapshot_download

    data = OFFICIAL_DATA[task]
    try:
        return Path(
            snapshot_download(data.hub_repository, repo_type="dataset", allow_patterns=[data.hub_files], etag_timeout=5)
        )
    except Exception as error:
        # Every layer below (hub, HTTP, sockets) has exceptions of its own; to the user they are one thing.
        reason = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
        raise BenchmarkDataError(
            f"{task} has no embedded data, and the hub gave none ({reason}). {how_to_get(task)}"
        ) from None
