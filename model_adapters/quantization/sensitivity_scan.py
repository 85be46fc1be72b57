"""`tlive quantize --scan`: each block quantized alone, and what that costs each ability.

Weights are rounded to nearest on the grid of the recipe and kept as floats, so that this runs wherever torch does, for
tens of blocks in the time of one quantization. It is a first look at where precision is needed, not what the recipe's
algorithm would reach: GPTQ loses less, in much the same places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.quantization.block_error import compare_probes, probe
from tliveomni_eval.model_adapters.quantization.calibration import SIDE, CalibrationSample, encode_sample, probe_seeds
from tliveomni_eval.model_adapters.quantization.modifiers import quantized_modules, resolve_group_size
from tliveomni_eval.model_adapters.quantization.recipe import LayerOverride, Recipe, WeightScheme

_BLOCK = re.compile(r"^(.*?(?:layers|blocks)\.\d+)\.")


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BlockLoss(_Frozen):
    """One block quantized, all others at 16 bit.

    Attributes:
        block: Its name; a linear outside of blocks stands for itself.
        linears: Linears of it that the recipe quantizes.
        kl_divergence: Mean KL(16 bit ‖ quantized) over the answers' tokens in nats, by ability.
        changed_tokens: Share of the answers' tokens whose greedy choice changed, by ability.
    """

    block: str
    linears: int
    kl_divergence: dict[str, float]
    changed_tokens: dict[str, float]

    @property
    def worst(self) -> float:
        """The largest divergence of any ability."""
        return max(self.kl_divergence.values())


class ScanReport(_Frozen):
    """All blocks, the most sensitive first.

    Attributes:
        recipe: Name of the recipe.
        samples: Samples of each ability, composed on the training side.
        blocks: The blocks.
        whole: All blocks quantized at once.
        proposal: Overrides for the recipe that leave the most sensitive blocks at 16 bit.
        members: Linears of each block.
    """

    recipe: str
    samples: dict[str, int]
    blocks: list[BlockLoss]
    whole: BlockLoss
    proposal: list[dict[str, Any]]
    members: dict[str, list[str]]


def scan_blocks(
    source: Path, recipe: Recipe, samples: int, keep: int, announce: Callable[[str], None] = print
) -> ScanReport:
    """Quantize each block alone and measure.

    Args:
        source: Folder of a 16-bit checkpoint with its processor.
        recipe: Whose weight scheme is used.
        samples: Probe samples over all abilities.
        keep: Blocks that the proposal leaves at 16 bit.
        announce: Told each step in a short sentence.

    Raises:
        UserError: The recipe quantizes nothing of the model.
    """
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    if not (source / "config.json").is_file():
        raise UserError(f"{str(source)!r} is not a checkpoint folder: it holds no config.json")
    processor = AutoProcessor.from_pretrained(source)
    dtype = "auto" if torch.accelerator.is_available() else torch.float32
    model = AutoModelForImageTextToText.from_pretrained(source, dtype=dtype).eval()
    linears = {name: module for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)}
    shapes = {name: (module.in_features, module.out_features) for name, module in linears.items()}
    governed = quantized_modules(recipe, shapes)
    schemes = {name: _scheme(recipe, override) for name, override in governed.items()}
    groups = _group_sizes(schemes, shapes)
    abilities = _probe_samples(recipe, samples)
    encoded = {name: [encode_sample(item, processor) for item in found] for name, found in abilities.items()}
    before = {name: probe(model, found) for name, found in encoded.items()}

    def loss(block: str, names: Sequence[str]) -> BlockLoss:
        with _rounded({name: linears[name] for name in names}, schemes, groups):
            errors = {name: compare_probes(before[name], probe(model, found)) for name, found in encoded.items()}
        return BlockLoss(
            block=block,
            linears=len(names),
            kl_divergence={name: error.kl_divergence for name, error in errors.items()},
            changed_tokens={name: 1.0 - error.top1_agreement for name, error in errors.items()},
        )

    blocks = []
    members = _blocks(governed)
    for number, (block, names) in enumerate(members.items(), 1):
        announce(f"block {number} of {len(members)}: {block}")
        blocks.append(loss(block, names))
    blocks.sort(key=lambda item: -item.worst)
    return ScanReport(
        recipe=recipe.name,
        samples={name: len(found) for name, found in abilities.items()},
        blocks=blocks,
        whole=loss("all blocks", list(governed)),
        proposal=proposed_overrides(blocks, members, keep),
        members=members,
    )


def proposed_overrides(
    blocks: Sequence[BlockLoss], members: Mapping[str, Sequence[str]], keep: int
) -> list[dict[str, Any]]:
    """Overrides, as a recipe takes them, that leave the first blocks at 16 bit; none where that would leave nothing.

    Args:
        blocks: The most sensitive first.
        members: Linears of each block.
        keep: How many to leave.
    """
    chosen = [item.block for item in blocks[:keep] if item.worst > 0]
    if not chosen or len(chosen) == len(blocks):
        return []
    return [kept_override(chosen, members)]


def kept_override(blocks: Sequence[str], members: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The override of a recipe that leaves blocks at 16 bit.

    Args:
        blocks: Their names, at least one.
        members: Linears of each block.
    """
    targets = [rf"re:{re.escape(block)}\." if members[block] != [block] else block for block in blocks]
    return {"targets": targets, "weights": None}


def round_to_nearest(weight: Any, scheme: WeightScheme, group_size: int | None) -> Any:
    """A weight matrix on the grid of a scheme, in its own type.

    Args:
        weight: Tensor (out, in).
        scheme: Bits, type and what shares a scale.
        group_size: Inputs that share one, with strategy `group`.
    """
    import torch

    values = weight.float()
    if scheme.strategy == "group":
        assert group_size is not None
        values = values.reshape(-1, group_size)
    elif scheme.strategy == "tensor":
        values = values.reshape(1, -1)
    if scheme.type == "float":
        scale = values.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / torch.finfo(torch.float8_e4m3fn).max
        rounded = (values / scale).to(torch.float8_e4m3fn).float() * scale
    else:
        largest = 2 ** (scheme.num_bits - 1) - 1
        # compressed-tensors spreads a symmetric range over all 2^bits values: scale = 2 · max|w| / (2^bits − 1).
        scale = values.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / ((2**scheme.num_bits - 1) / 2)
        rounded = torch.clamp(torch.round(values / scale), -largest - 1, largest) * scale
    return rounded.reshape(weight.shape).to(weight.dtype)


def _scheme(recipe: Recipe, override: LayerOverride | None) -> WeightScheme:
    found = override.weights if override is not None else recipe.weights
    assert found is not None
    return found


def _group_sizes(schemes: Mapping[str, WeightScheme], shapes: Mapping[str, tuple[int, int]]) -> dict[str, int | None]:
    wanted = {scheme.group_size for scheme in schemes.values() if scheme.group_size is not None}
    resolved = {
        size: resolve_group_size(
            size, {name: shapes[name][0] for name, scheme in schemes.items() if scheme.group_size == size}
        )
        for size in wanted
    }
    return {name: resolved[scheme.group_size] if scheme.group_size else None for name, scheme in schemes.items()}


def _blocks(names: Mapping[str, Any]) -> dict[str, list[str]]:
    blocks: dict[str, list[str]] = {}
    for name in names:
        found = _BLOCK.match(name)
        blocks.setdefault(found.group(1) if found else name, []).append(name)
    return blocks


@contextmanager
def _rounded(
    modules: Mapping[str, Any], schemes: Mapping[str, WeightScheme], groups: Mapping[str, int | None]
) -> Iterator[None]:
    originals = {name: module.weight.data for name, module in modules.items()}
    try:
        for name, module in modules.items():
            module.weight.data = round_to_nearest(module.weight.data, schemes[name], groups[name])
        yield
    finally:
        for name, module in modules.items():
            module.weight.data = originals[name]


def _probe_samples(recipe: Recipe, count: int) -> dict[str, list[CalibrationSample]]:
    from tliveomni_eval.tasks.composer.ocr_sample import compose_ocr_sample

    abilities: dict[str, list[CalibrationSample]] = {}
    for seed in probe_seeds(recipe.calibration, count):
        sample = compose_ocr_sample(seed, side=SIDE)
        made = CalibrationSample(seed, (sample.image,), sample.prompt, sample.reference)
        abilities.setdefault(f"reading a {sample.field}", []).append(made)
    return dict(sorted(abilities.items()))
