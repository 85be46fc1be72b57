"""`tlive parity --layers`: the same few samples through both implementations, module by module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.parity_layers import ModuleDifference, parity_layers
from tliveomni_eval.evals.parity_report import ParityLayers
from tliveomni_eval.model_adapters.parity.layer_specification import DIFFERENCES_NAME, LayerSample, LayerSpecification
from tliveomni_eval.model_adapters.parity.side_run import run_process
from tliveomni_eval.model_adapters.parity.token_scores import SideRecord
from tliveomni_eval.model_adapters.run.run_events import Event

TOLERANCES = {"float32": 1e-4, "bfloat16": 0.05, "float16": 0.01}
"""Relative difference of a module's output that is taken as rounding, by the type computed in."""

_MODULE = "tliveomni_eval.model_adapters.parity.layer_process"


def layer_samples(records: Iterable[SideRecord], ids: Mapping[str, Mapping[int, str]]) -> tuple[LayerSample, ...]:
    """One sample of each modality: the one with the shortest prompt, since all modules' outputs are kept.

    Args:
        records: What the reference found.
        ids: Task to the id of each document.
    """
    shortest: dict[str, SideRecord] = {}
    for record in records:
        known = shortest.get(record.modality)
        if record.scores is not None and (known is None or record.prompt_tokens < known.prompt_tokens):
            shortest[record.modality] = record
    return tuple(
        LayerSample(
            task=record.task,
            document=record.document,
            name=f"{record.task} {ids.get(record.task, {}).get(record.document, record.document)}",
            answer=record.scores.tokens,
        )
        for record in shortest.values()
        if record.scores is not None
    )


def compare_layers(
    work: Path,
    samples: tuple[LayerSample, ...],
    reference_args: dict[str, Any],
    candidate_args: dict[str, Any],
    only_our_tasks: bool,
    tolerance: float,
    progress: Callable[[str, Any], Callable[[Event], None]],
) -> tuple[ParityLayers, ...]:
    """Run both sides, each in a process of its own.

    Args:
        work: Folder for what the processes leave behind.
        samples: What is looked at; nothing is compared without any.
        reference_args: `--model_args` of transformers.
        candidate_args: `--model_args` of vLLM.
        only_our_tasks: All tasks are ours.
        tolerance: Largest relative difference that is taken as rounding.
        progress: From the name of a side and its specification to what its events are passed to.

    Raises:
        UserError: A side failed.
    """
    if not samples:
        return ()
    folders = {side: work / f"layers-{side}" for side in ("reference", "candidate")}
    for side, arguments in (("reference", reference_args), ("candidate", candidate_args)):
        folders[side].mkdir()
        specification = LayerSpecification.model_validate(
            {
                "folder": folders[side],
                "side": side,
                "model_args": arguments,
                "reference_folder": folders["reference"] if side == "candidate" else None,
                "only_our_tasks": only_our_tasks,
                "samples": samples,
            }
        )
        name = "layers of transformers" if side == "reference" else "layers of vLLM"
        run_process(_MODULE, folders[side], specification.model_dump_json(), progress(name, specification))
    lines = (folders["candidate"] / DIFFERENCES_NAME).read_text(encoding="utf-8").splitlines()
    differences = [ModuleDifference.model_validate_json(line) for line in lines]
    return parity_layers(differences, tolerance, _levels(differences))


def _levels(differences: Iterable[ModuleDifference]) -> int:
    """Levels of DeepStack: as many as the tower with more mergers has."""
    counts = {
        tower: len({one.name for one in differences if one.name.startswith(f"{tower}.deepstack_merger_list.")})
        for tower in ("visual", "audio_tower")
    }
    return max(counts.values())
