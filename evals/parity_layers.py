"""Where in a model two implementations part: from differences of modules to the first one of each component. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict
from tliveomni_eval.evals.parity_report import Component, LayerDifference, ParityLayers

INPUT = " (input)"
"""Ends the name of a layer whose input was observed, not its output: there what was added between layers shows."""

_COMPONENTS: tuple[tuple[str, Component], ...] = (
    (r"visual\.deepstack_merger_list\.(\d+)$", "vision DeepStack"),
    (r"visual\.", "vision tower"),
    (r"audio_tower\.deepstack_merger_list\.(\d+)$", "audio DeepStack"),
    (r"audio_tower\.", "audio tower"),
    (r".*(norm|layernorm)$", "norm"),
    (r".*\.self_attn$", "attention"),
    (r".*\.mlp$", "MLP"),
)
_LAYER_INPUT = re.compile(r"language_model\.layers\.(\d+)" + re.escape(INPUT) + "$")


class ModuleDifference(BaseModel):
    """One module on one sample.

    Attributes:
        name: As transformers names it, without the leading `model.`; ends in `INPUT` where its input was observed.
        relative: Frobenius norm of the difference over that of the reference; None where the shapes differ.
        max_abs: Largest absolute difference of an element; None where the shapes differ.
        sample: Task and id of the sample.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    relative: float | None
    max_abs: float | None
    sample: str

    @property
    def size(self) -> float:
        """What is compared with a tolerance: outputs of different shape differ by more than any number."""
        return float("inf") if self.relative is None else self.relative

    def as_reported(self) -> LayerDifference:
        """As a report holds it."""
        return LayerDifference(name=self.name, relative=self.relative, max_abs=self.max_abs, sample=self.sample)


def component_of(name: str, deepstack_levels: int) -> tuple[Component, int | None]:
    """Which part of the model a module belongs to, and its level of DeepStack where it has one.

    Args:
        name: As `ModuleDifference.name`.
        deepstack_levels: Levels that are added to the language model: the larger number of the two towers.

    >>> component_of("language_model.layers.0 (input)", 2), component_of("language_model.layers.2 (input)", 2)
    (('embeddings', None), ('DeepStack addition', 1))
    >>> component_of("language_model.layers.3.self_attn.q_norm", 2)
    ('norm', None)
    """
    if match := _LAYER_INPUT.match(name):
        layer = int(match.group(1))
        if layer == 0:
            return "embeddings", None
        return ("DeepStack addition", layer - 1) if layer <= deepstack_levels else ("language layer", None)
    for pattern, component in _COMPONENTS:
        if match := re.match(pattern, name):
            return component, int(match.group(1)) if match.groups() and component.endswith("DeepStack") else None
    return "language layer", None


def parity_layers(
    differences: Sequence[ModuleDifference], tolerance: float, deepstack_levels: int
) -> tuple[ParityLayers, ...]:
    """One row a component and level, in the order of computation.

    Args:
        differences: Sample by sample, each in the order of computation.
        tolerance: Largest relative difference that is taken as rounding.
        deepstack_levels: As `component_of` takes it.
    """
    by_component: dict[tuple[Component, int | None], list[ModuleDifference]] = {}
    for difference in differences:
        by_component.setdefault(component_of(difference.name, deepstack_levels), []).append(difference)
    return tuple(
        ParityLayers(
            component=component,
            level=level,
            compared=len({one.name for one in members}),
            tolerance=tolerance,
            first=_first(members, tolerance),
            worst=max(members, key=lambda one: one.size).as_reported(),
        )
        for (component, level), members in by_component.items()
    )


def _first(members: Iterable[ModuleDifference], tolerance: float) -> LayerDifference | None:
    """The earliest module over all samples: of each sample the first one above, and of those the least deep."""
    above: dict[str, ModuleDifference] = {}
    for member in members:
        if member.size > tolerance:
            above.setdefault(member.sample, member)
    if not above:
        return None
    return min(above.values(), key=lambda one: (_depth(one.name), -one.size)).as_reported()


def _depth(name: str) -> tuple[int, ...]:
    """Orders modules of one component as they are computed: patches, then numbered layers, then what merges them."""
    numbers = tuple(int(number) for number in re.findall(r"\.(\d+)(?=\.|$| )", name))
    if numbers:
        return numbers
    return (-1,) if name.endswith("patch_embed") else (10**6,)
