"""Makes a quantized checkpoint out of a 16-bit one, with llm-compressor."""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.logs.checkpoint_fingerprint import fingerprint_checkpoint
from tliveomni_eval.model_adapters.quantization.block_error import compare_probes, probe
from tliveomni_eval.model_adapters.quantization.calibration import (
    CALIBRATION_REPORT,
    SIDE,
    CalibrationSample,
    calibration_seeds,
    compose_samples,
    encode_sample,
    fingerprint_samples,
    folder_samples,
    probe_seeds,
)
from tliveomni_eval.model_adapters.quantization.model_parts import part_of
from tliveomni_eval.model_adapters.quantization.modifiers import build_modifiers, config_groups, quantized_modules
from tliveomni_eval.model_adapters.quantization.quantization_record import (
    RECORD_FILE,
    CalibrationRecord,
    MeasuredError,
    QuantizationRecord,
    SourceCheckpoint,
)
from tliveomni_eval.model_adapters.quantization.recipe import Recipe
from tliveomni_eval.model_adapters.quantization.source_dtype import restore_source_dtype

Announce = Callable[[str], None]

_PACKAGES = ("llmcompressor", "compressed-tensors", "transformers", "torch", "safetensors")
_WEIGHT_SUFFIXES = (".safetensors", ".bin", ".pt")
_WRITTEN_HERE = ("config.json", "model.safetensors.index.json", RECORD_FILE)


def quantize_checkpoint(
    source: Path,
    recipe: Recipe,
    out: Path,
    announce: Announce = print,
    probe_samples: int = 16,
    calibration_folder: Path | None = None,
) -> QuantizationRecord:
    """Quantizes a checkpoint.

    The result appears under `out` only when it is complete; an earlier quantized checkpoint there is replaced then.

    Args:
        source: Folder of a 16-bit checkpoint with its processor.
        recipe: What to do.
        out: Folder to write.
        announce: Told each step in a short sentence.
        probe_samples: Samples on which the error is measured; 0 measures none.
        calibration_folder: Folder of `tlive calibrate` to calibrate on, in place of the recipe's own samples.

    Returns:
        What was written to `quantization.json`.

    Raises:
        UserError: If `source` is not a 16-bit checkpoint, or `out` is in use by something else.
    """
    _check_folders(source, out)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import torch
    from llmcompressor import oneshot
    from torch.utils.data import DataLoader
    from transformers import AutoModelForImageTextToText, AutoProcessor

    announce(f"loading {source}")
    origin = fingerprint_checkpoint(source)
    processor = AutoProcessor.from_pretrained(source)
    # Without an accelerator float32 is several times as fast as bfloat16, and as exact: 16-bit weights fit in it.
    dtype = "auto" if torch.accelerator.is_available() else torch.float32
    model = AutoModelForImageTextToText.from_pretrained(source, dtype=dtype).eval()
    linears = {
        name: (module.in_features, module.out_features)
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear)
    }
    governed = quantized_modules(recipe, linears)
    groups = config_groups(recipe, linears)
    announce(f"{recipe.name}: {len(governed)} of {len(linears)} linears, {recipe.algorithm.replace('_', ' ')}")

    probes = probe_seeds(recipe.calibration, probe_samples)
    encoded_probes = [encode_sample(sample, processor) for sample in _composed(probes, "probe samples")]
    before = probe(model, encoded_probes) if encoded_probes else None

    calibration, encoded = _calibrate(recipe, processor, calibration_folder, announce)
    arguments: dict[str, Any] = {"model": model, "processor": processor, "recipe": build_modifiers(recipe, linears)}
    if encoded:
        loader = DataLoader(encoded, batch_size=1, collate_fn=_only_item)
        arguments |= {"dataset": loader, "num_calibration_samples": len(encoded), "shuffle_calibration_samples": False}
    announce("running llm-compressor")
    oneshot(**arguments)

    error = None
    if before is not None:
        announce(f"measuring the error on {len(probes)} samples that did not calibrate")
        measured = compare_probes(before, probe(model, encoded_probes))
        error = MeasuredError(first_seed=probes.start, samples=len(probes), **asdict(measured))

    announce(f"writing {out}")
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as scratch:
        folder = Path(scratch) / out.name
        model.save_pretrained(folder, save_compressed=True)
        restore_source_dtype(folder, source)
        _copy_processor(folder, source)
        record = QuantizationRecord(
            variant=recipe.name,
            recipe=recipe,
            resolved_group_size=next((g["weights"].get("group_size") for g in reversed(groups.values())), None),
            quantized_modules=dict(Counter(str(part_of(name)) for name in governed)),
            source=SourceCheckpoint(
                name=source.name,
                fingerprint=origin.fingerprint,
                weights={name: digest for name, digest in origin.files.items() if name.endswith(_WEIGHT_SUFFIXES)},
                weight_bytes=_weight_bytes(source),
            ),
            calibration=calibration,
            error=error,
            weight_bytes=_weight_bytes(folder),
            versions={"python": platform.python_version(), **{package: version(package) for package in _PACKAGES}},
        )
        record.write(folder)
        if out.exists():
            shutil.rmtree(out)
        folder.rename(out)
    return record


def _check_folders(source: Path, out: Path) -> None:
    config_file = source / "config.json"
    if not config_file.is_file():
        raise UserError(f"{str(source)!r} is not a checkpoint folder: it holds no config.json")
    if "quantization_config" in json.loads(config_file.read_text(encoding="utf-8")):
        raise UserError(f"{str(source)!r} is already quantized: give the 16-bit checkpoint it was made from")
    if out.resolve() == source.resolve():
        raise UserError(f"--out {str(out)!r} is the source checkpoint itself: choose another folder")
    if out.exists() and any(out.iterdir()) and not (out / RECORD_FILE).is_file():
        raise UserError(f"--out {str(out)!r} holds something that is no quantized checkpoint: choose another folder")
    out.parent.mkdir(parents=True, exist_ok=True)


def _calibrate(
    recipe: Recipe, processor: Any, folder: Path | None, announce: Announce
) -> tuple[CalibrationRecord | None, list[Any]]:
    settings = recipe.calibration
    if settings is None:
        if folder is not None:
            raise UserError(f"recipe {recipe.name!r} looks at no data: leave --calibration out")
        return None, []
    if folder is not None:
        return _calibrate_on_folder(processor, folder, announce)
    samples = list(_composed(calibration_seeds(settings), "calibration samples"))
    encoded = [encode_sample(sample, processor)[0] for sample in samples]
    record = CalibrationRecord(
        source=settings.source,
        side=SIDE,
        first_seed=settings.first_seed,
        samples=settings.samples,
        tokens=sum(int(inputs["input_ids"].numel()) for inputs in encoded),
        fingerprint=fingerprint_samples(samples),
    )
    return record, encoded


def _calibrate_on_folder(processor: Any, folder: Path, announce: Announce) -> tuple[CalibrationRecord, list[Any]]:
    samples, left_out = folder_samples(folder)
    if left_out:
        kinds = ", ".join(f"{count} of {kind}" for kind, count in sorted(left_out.items()))
        announce(f"{folder}: samples left out, because calibration runs on samples with images alone: {kinds}")
    encoded = [encode_sample(sample, processor)[0] for sample in samples]
    record = CalibrationRecord(
        source="folder",
        side="pool",
        first_seed=0,
        samples=len(samples),
        tokens=sum(int(inputs["input_ids"].numel()) for inputs in encoded),
        fingerprint=fingerprint_samples(samples),
        folder_fingerprint=json.loads((folder / CALIBRATION_REPORT).read_text(encoding="utf-8"))["fingerprint"],
        left_out=left_out,
    )
    return record, encoded


def _composed(seeds: range, label: str) -> Iterable[CalibrationSample]:
    from tqdm import tqdm

    samples: Iterable[CalibrationSample] = tqdm(compose_samples(seeds), total=len(seeds), desc=label, unit="sample")
    return samples


def _only_item(batch: list[Any]) -> Any:
    return batch[0]


def _copy_processor(folder: Path, source: Path) -> None:
    """Adds tokenizer and processor files as they are in the source: re-saving them could change the prompts."""
    for file in source.iterdir():
        if file.is_file() and file.name not in _WRITTEN_HERE and file.suffix not in _WEIGHT_SUFFIXES:
            shutil.copyfile(file, folder / file.name)
    (folder / "recipe.yaml").unlink(missing_ok=True)
    for file in folder.iterdir():
        os.chmod(file, 0o644)


def _weight_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir() if file.suffix in _WEIGHT_SUFFIXES)
