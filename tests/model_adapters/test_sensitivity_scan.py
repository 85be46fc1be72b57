"""`tlive quantize --scan`: rounding, the proposal, and the embedded model."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.nano.embedded_checkpoints import checkpoint_path
from tliveomni_eval.model_adapters.quantization.recipe import WeightScheme, load_recipe, parse_recipe
from tliveomni_eval.model_adapters.quantization.sensitivity_scan import (
    BlockLoss,
    proposed_overrides,
    round_to_nearest,
    scan_blocks,
)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(["tensor", "channel", "group"]), st.sampled_from([4, 8]))
def test_rounding_moves_no_weight_by_more_than_half_a_step_but_at_the_upper_end(seed, strategy, bits):
    weight = torch.randn(6, 64, generator=torch.Generator().manual_seed(seed))
    scheme = WeightScheme(num_bits=bits, strategy=strategy, group_size=32 if strategy == "group" else None)
    rounded = round_to_nearest(weight, scheme, 32 if strategy == "group" else None)
    rows = {"tensor": weight.reshape(1, -1), "channel": weight, "group": weight.reshape(-1, 32)}[strategy]
    step = rows.abs().amax(1, keepdim=True) / ((2**bits - 1) / 2)
    difference = (rounded.reshape(rows.shape) - rows).abs()
    assert (difference <= step * 0.5 + 1e-6).all()
    levels = (rounded.reshape(rows.shape) / step).round()
    assert len(torch.unique(levels[0])) <= 2**bits
    assert torch.equal(round_to_nearest(torch.zeros(2, 64), scheme, scheme.group_size), torch.zeros(2, 64))


def test_fewer_bits_and_a_coarser_scale_lose_more():
    weight = torch.randn(16, 128, generator=torch.Generator().manual_seed(1)) * torch.logspace(-2, 0, 16)[:, None]

    def error(**scheme):
        made = WeightScheme(**scheme)
        return float((round_to_nearest(weight, made, made.group_size) - weight).square().mean())

    eight, four = error(num_bits=8), error(num_bits=4)
    assert error(num_bits=8, type="float") < four
    assert eight < error(num_bits=4, strategy="group", group_size=32) < four < error(num_bits=4, strategy="tensor")


def loss(block, worst):
    return BlockLoss(block=block, linears=2, kl_divergence={"a": worst, "b": 0.0}, changed_tokens={"a": 0.0, "b": 0.0})


def test_the_proposal_is_one_that_a_recipe_takes_and_names_just_the_worst():
    blocks = [loss("model.layers.1", 0.5), loss("lm_head", 0.2), loss("model.layers.11", 0.1)]
    members = {"model.layers.1": ["model.layers.1.a"], "lm_head": ["lm_head"], "model.layers.11": ["model.layers.11.a"]}
    (override,) = proposed_overrides(blocks, members, 2)
    content = load_recipe("w4naive").model_dump() | {"overrides": [override]}
    made = parse_recipe(content, "proposal").overrides[0]
    names = ("model.layers.1.a", "lm_head", "model.layers.11.a")
    assert [made.matches(name) for name in names] == [True, True, False]
    assert made.weights is None
    assert proposed_overrides(blocks, members, 3) == []
    assert proposed_overrides([loss("model.layers.1", 0.0), loss("lm_head", 0.0)], members, 1) == []


def test_the_careless_recipe_on_the_embedded_model():
    torch.set_num_threads(1)
    report = scan_blocks(checkpoint_path("bf16"), load_recipe("w4naive"), samples=2, keep=2, announce=lambda _: None)
    assert sum(report.samples.values()) == 2
    assert [block.worst for block in report.blocks] == sorted((block.worst for block in report.blocks), reverse=True)
    assert report.whole.worst > 10 * report.blocks[-1].worst
    assert sum(block.linears for block in report.blocks) == report.whole.linears
    assert report.proposal


def test_a_folder_without_a_checkpoint_is_said(tmp_path):
    with pytest.raises(UserError, match="is not a checkpoint folder"):
        scan_blocks(tmp_path, load_recipe("w4naive"), samples=1, keep=1)
