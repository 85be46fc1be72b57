"""The lmms-eval task class behind every `live_*` task: samples come from a manifest folder, never from a hub."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datasets import Dataset, DatasetDict
from lmms_eval.api.task import ConfigurableMessagesTask
from tliveomni_eval.evals.record import Record, Status
from tliveomni_eval.tasks.audio_file import read_audio
from tliveomni_eval.tasks.data_location import data_folder
from tliveomni_eval.tasks.image_file import read_image
from tliveomni_eval.tasks.manifest import Sample, load_samples


class LiveTask(ConfigurableMessagesTask):  # type: ignore[misc]
    """A chat task whose documents are manifest lines.

    A document has the columns `id`, `cluster`, `prompt`, `reference`, `slices`, `context` (the last three as JSON
    text, because their keys differ from sample to sample) and `media` (a list of `{type, path}` with absolute paths).

    Args:
        data_dir: Unused; part of lmms-eval's signature.
        cache_dir: Unused; part of lmms-eval's signature.
        download_mode: Unused; part of lmms-eval's signature.
        config: The task's YAML; `dataset_kwargs.data` may name a data folder.
        model_name: Name of the model, for prompts that differ by model.
    """

    def __init__(
        self,
        data_dir: str | None = None,
        cache_dir: str | None = None,
        download_mode: str | None = None,
        config: dict[str, Any] | None = None,
        model_name: str | None = None,
    ) -> None:
        config = {key: value for key, value in (config or {}).items() if key != "class"}
        super().__init__(config=config, model_name=model_name)

    def download(self, dataset_kwargs: dict[str, Any] | None = None) -> None:
        """Read the manifest; nothing is downloaded.

        Raises:
            ManifestError: The data folder is faulty.
        """
        folder = data_folder(self.config.task, (dataset_kwargs or {}).get("data"))
        documents = [self.prepared(document(sample, folder)) for sample in load_samples(folder, self.config.task)]
        self.dataset = DatasetDict({self.config.test_split: Dataset.from_list(documents)})
        self.dataset_no_image = self.dataset

    def process_results(self, doc: dict[str, Any], results: list[Any], full_docs: Any = None) -> dict[str, Any]:
        """Score one answer; lmms-eval would hand on a failed request, which has none, as an empty answer.

        Args:
            doc: The document.
            results: The answer, alone in its list; None where the request failed.
            full_docs: What a task of lmms-eval may ask for; ours do not.
        """
        if results == [None]:
            scored: dict[str, Any] = self.config.process_results(doc, results)
            return scored
        return dict(super().process_results(doc, results, full_docs))

    def prepared(self, doc: dict[str, Any]) -> dict[str, Any]:
        """The document as the task needs it: a task with a prompt of its own, or with more columns, overrides this."""
        return doc


def document(sample: Sample, folder: Path) -> dict[str, Any]:
    """The lmms-eval document of a sample.

    Args:
        sample: A line of a manifest.
        folder: Its data folder.
    """
    return {
        "id": sample.id,
        "cluster": sample.cluster,
        "prompt": sample.prompt or "",
        "reference": json.dumps(sample.reference, ensure_ascii=False),
        "slices": json.dumps(sample.slices, ensure_ascii=False),
        "context": json.dumps(sample.context, ensure_ascii=False),
        "media": [{"type": media.type, "path": str((folder / media.path).resolve())} for media in sample.media],
    }


def messages(doc: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Chat messages of a document: its media in order, then its prompt.

    Images are decoded here. Audio and video are given by path, which the chat models of lmms-eval open themselves at
    the rate they need.

    Raises:
        MediaError: An image cannot be decoded.
    """
    content: list[dict[str, Any]] = []
    for media in doc["media"]:
        if media["type"] == "image":
            content.append({"type": "image", "url": read_image(Path(media["path"]))})
        else:
            content.append({"type": media["type"], "url": media["path"]})
    content.append({"type": "text", "text": doc["prompt"]})
    return [{"role": "user", "content": content}]


def visuals(doc: Mapping[str, Any]) -> list[Any]:
    """Media of a document for models that are not chat models: audio decoded, as such models of lmms-eval take it.

    Raises:
        MediaError: An image or audio cannot be decoded.
    """
    return [_visual(part) for part in messages(doc)[0]["content"] if part["type"] != "text"]


def _visual(part: Mapping[str, Any]) -> Any:
    if part["type"] != "audio":
        return part["url"]
    clip = read_audio(Path(part["url"]))
    return {"array": clip.samples, "sampling_rate": clip.sampling_rate, "path": part["url"]}


def prompt(doc: Mapping[str, Any]) -> str:
    """Instruction of a document."""
    return str(doc["prompt"])


def reference_text(doc: Mapping[str, Any]) -> str:
    """What a log shows as the target of a document."""
    reference = json.loads(doc["reference"])
    return reference if isinstance(reference, str) else str(doc["reference"])


def record(doc: Mapping[str, Any], status: Status, detail: Mapping[str, Any]) -> dict[str, Any]:
    """The `record` metric of one scored document."""
    slices: dict[str, str] = json.loads(doc["slices"])
    # lmms-eval's own log names images only; a viewer is to find the other media too.
    media = [medium["path"] for medium in doc["media"]]
    if any(medium["type"] != "image" for medium in doc["media"]):
        detail = {**detail, "media": media}
    return Record(doc["id"], doc["cluster"], slices, status, detail).logged()


def ratio(items: list[dict[str, Any]]) -> float:
    """lmms-eval aggregation of a ratio metric: the sum of `num` over the sum of `den` (nan where nothing counts)."""
    den = sum(item["den"] for item in items)
    return float(sum(item["num"] for item in items) / den) if den > 0 else float("nan")


def answered_share(records: list[dict[str, Any]]) -> float:
    """lmms-eval aggregation of `record`: the share of samples whose output could be scored as it is."""
    return sum(bool(item["status"] == "ok") for item in records) / len(records)
