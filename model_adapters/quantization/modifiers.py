"""A recipe in llm-compressor's terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.quantization.model_parts import part_of
from tliveomni_eval.model_adapters.quantization.recipe import ActivationScheme, LayerOverride, Recipe, WeightScheme

MATRIX_OBSERVER = "matrix_minmax"
"""Name of the observer that gives all channels of a matrix one range; see `matrix_observer`."""

PACKED_BITS = 4
"""Weights of so many bits are stored packed, a format that has scales for channels and groups only."""

SMALLEST_GROUP = 32
"""Smallest group that vLLM's GPU and CPU kernels for 4-bit weights share."""


def quantized_modules(recipe: Recipe, linears: Mapping[str, tuple[int, int]]) -> dict[str, LayerOverride | None]:
    """The modules that a recipe quantizes, with the override that governs each.

    Args:
        recipe: The recipe.
        linears: (input width, output width) of every linear of the model by name.

    Raises:
        UserError: If the recipe quantizes nothing of this model, or an override names no quantized module.
    """
    governed: dict[str, LayerOverride | None] = {}
    used: set[int] = set()
    for name in linears:
        if part_of(name) not in recipe.parts:
            continue
        index = next((index for index, override in enumerate(recipe.overrides) if override.matches(name)), None)
        override = None if index is None else recipe.overrides[index]
        if index is not None:
            used.add(index)
        if override is None or override.weights is not None:
            governed[name] = override
    if not governed:
        raise UserError(
            f"recipe {recipe.name!r} quantizes no linear of this model: it has none in {', '.join(recipe.parts)}"
        )
    unused = [index for index in range(len(recipe.overrides)) if index not in used]
    if unused:
        raise UserError(f"recipe {recipe.name!r}: overrides.{unused[0]} names no linear that the recipe quantizes")
    return governed


def resolve_group_size(wanted: int, input_widths: Mapping[str, int]) -> int:
    """The largest power of two up to `wanted` that divides every input width.

    Args:
        wanted: Largest allowed group.
        input_widths: Input width by module name.

    Raises:
        UserError: If that is below the smallest group that kernels take; names the module.

    >>> resolve_group_size(128, {"q_proj": 320, "down_proj": 960})
    64
    """
    size = 1 << (wanted.bit_length() - 1)
    while size >= SMALLEST_GROUP:
        if all(width % size == 0 for width in input_widths.values()):
            return size
        size //= 2
    name, width = next((name, width) for name, width in input_widths.items() if width % SMALLEST_GROUP)
    raise UserError(
        f"{name} has {width} inputs, which no group of {SMALLEST_GROUP} or more divides: "
        "use strategy: channel for it, or leave it at 16 bit"
    )


def config_groups(recipe: Recipe, linears: Mapping[str, tuple[int, int]]) -> dict[str, dict[str, Any]]:
    """The recipe's quantization groups, as compressed-tensors writes them into `config.json`.

    Overrides come first; the last group targets every other linear that is not ignored.

    Args:
        recipe: The recipe.
        linears: (input width, output width) of every linear of the model by name.
    """
    governed = quantized_modules(recipe, linears)
    groups: dict[str, dict[str, Any]] = {}
    for override in (*recipe.overrides, None):
        widths = {name: linears[name][0] for name, governor in governed.items() if governor is override}
        if not widths:
            continue
        weights = override.weights if override else recipe.weights
        assert weights is not None
        groups[f"group_{len(groups)}"] = {
            "targets": list(override.targets) if override else ["Linear"],
            "weights": _weight_arguments(weights, widths),
            "input_activations": _activation_arguments(override.activations if override else recipe.activations),
        }
    return groups


def ignored_modules(recipe: Recipe, linears: Iterable[str], governed: Iterable[str]) -> list[str]:
    """Names of the linears that stay at 16 bit."""
    quantized = set(governed)
    return [name for name in linears if name not in quantized]


def build_modifiers(recipe: Recipe, linears: Mapping[str, tuple[int, int]]) -> list[Any]:
    """llm-compressor's modifiers for a recipe, in the order in which they act.

    Args:
        recipe: The recipe.
        linears: (input width, output width) of every linear of the model by name.
    """
    from llmcompressor.modifiers.gptq import GPTQModifier
    from llmcompressor.modifiers.quantization import QuantizationModifier
    from llmcompressor.modifiers.transform.smoothquant import SmoothQuantModifier
    from tliveomni_eval.model_adapters.quantization import matrix_observer  # noqa: F401  (registers its observer)

    groups = config_groups(recipe, linears)
    ignore = ignored_modules(recipe, linears, quantized_modules(recipe, linears))
    modifiers: list[Any] = []
    if recipe.smoothing_strength is not None:
        mappings = [
            [
                [r"re:.*self_attn\.q_proj$", r"re:.*self_attn\.k_proj$", r"re:.*self_attn\.v_proj$"],
                "re:.*input_layernorm$",
            ],
            [[r"re:.*mlp\.gate_proj$", r"re:.*mlp\.up_proj$"], "re:.*post_attention_layernorm$"],
        ]
        modifiers.append(SmoothQuantModifier(smoothing_strength=recipe.smoothing_strength, mappings=mappings))
    if recipe.algorithm == "gptq":
        gptq = recipe.gptq.model_dump() if recipe.gptq else {}
        if gptq.get("actorder") == "none":
            gptq["actorder"] = None
        modifiers.append(GPTQModifier(config_groups=groups, ignore=ignore, **gptq))
    else:
        modifiers.append(QuantizationModifier(config_groups=groups, ignore=ignore))
    return modifiers


def _weight_arguments(scheme: WeightScheme, input_widths: Mapping[str, int]) -> dict[str, Any]:
    arguments = scheme.model_dump(exclude_none=True)
    if scheme.strategy == "tensor" and scheme.num_bits == PACKED_BITS:
        arguments |= {"strategy": "channel", "observer": MATRIX_OBSERVER}
    if scheme.group_size is not None:
        arguments["group_size"] = resolve_group_size(scheme.group_size, input_widths)
    return arguments


def _activation_arguments(scheme: ActivationScheme | None) -> dict[str, Any] | None:
    return None if scheme is None else {**scheme.model_dump(), "symmetric": True}
