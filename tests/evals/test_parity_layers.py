"""Which component differs first, whatever the order and size of the differences."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tliveomni_eval.evals.parity_layers import INPUT, ModuleDifference, component_of, parity_layers

NAMES = [
    "visual.patch_embed",
    "visual.blocks.0",
    "visual.deepstack_merger_list.0",
    "visual.blocks.1",
    "visual.merger",
    "audio_tower.layers.0",
    "audio_tower.deepstack_merger_list.1",
    "language_model.layers.0" + INPUT,
    "language_model.layers.0.input_layernorm",
    "language_model.layers.0.self_attn.q_norm",
    "language_model.layers.0.self_attn",
    "language_model.layers.0.mlp",
    "language_model.layers.1" + INPUT,
    "language_model.layers.1.self_attn",
    "language_model.layers.10.self_attn",
    "language_model.norm",
]
SIZES = st.one_of(st.none(), st.floats(0, 1, allow_nan=False))


def difference(name: str, relative: float | None, sample: str = "live_ocr a") -> ModuleDifference:
    return ModuleDifference(name=name, relative=relative, max_abs=relative, sample=sample)


@pytest.mark.parametrize(
    ("name", "component", "level"),
    [
        ("visual.blocks.3", "vision tower", None),
        ("visual.deepstack_merger_list.1", "vision DeepStack", 1),
        ("audio_tower.ln_post", "audio tower", None),
        ("audio_tower.deepstack_merger_list.0", "audio DeepStack", 0),
        ("language_model.layers.0" + INPUT, "embeddings", None),
        ("language_model.layers.3" + INPUT, "DeepStack addition", 2),
        ("language_model.layers.4" + INPUT, "language layer", None),
        ("language_model.layers.4.post_attention_layernorm", "norm", None),
        ("language_model.layers.4.self_attn.k_norm", "norm", None),
        ("language_model.norm", "norm", None),
        ("language_model.layers.4.self_attn", "attention", None),
        ("language_model.layers.4.mlp", "MLP", None),
    ],
)
def test_modules_belong_to_components(name: str, component: str, level: int | None) -> None:
    assert component_of(name, deepstack_levels=3) == (component, level)


@settings(max_examples=60)
@given(st.lists(SIZES, min_size=len(NAMES), max_size=len(NAMES)), st.floats(0, 1, allow_nan=False))
def test_first_is_none_exactly_where_all_are_within_and_worst_is_the_largest(
    sizes: list[float | None], tolerance: float
) -> None:
    differences = [difference(name, size) for name, size in zip(NAMES, sizes, strict=True)]
    rows = parity_layers(differences, tolerance, deepstack_levels=1)
    assert sum(row.compared for row in rows) == len(NAMES)
    by_name = {one.name: one.size for one in differences}
    for row in rows:
        members = [n for n in NAMES if component_of(n, 1) == (row.component, row.level)]
        above = [name for name in members if by_name[name] > tolerance]
        assert (row.first is None) == (not above)
        assert row.first is None or row.first.name == above[0]
        assert row.worst is not None
        worst = math.inf if row.worst.relative is None else row.worst.relative
        assert worst == max(by_name[name] for name in members)


def test_of_several_samples_the_least_deep_module_is_named() -> None:
    deep, shallow = "language_model.layers.10.self_attn", "language_model.layers.1.self_attn"
    differences = [difference(deep, 0.5, "a"), difference(shallow, 0.0, "b"), difference(shallow, 0.2, "c")]
    (row,) = parity_layers(differences, 0.1, 0)
    assert row.first is not None
    assert (row.first.name, row.first.sample) == (shallow, "c")
    assert row.compared == 2
    assert row.worst is not None
    assert row.worst.name == deep


def test_another_shape_is_beyond_any_tolerance() -> None:
    (row,) = parity_layers([difference("visual.merger", None)], 1e9, 0)
    assert row.first is not None
    assert row.first.relative is None
