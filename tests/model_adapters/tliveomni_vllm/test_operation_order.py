"""Additions and casts in bfloat16, bit by bit: transformers against what vLLM computes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRMSNorm

HIDDEN, TOKENS, LAYERS, LEVELS = 64, 200, 4, 3


class MlpAndResidual(nn.Module):
    """A vLLM decoder layer reduced to what it returns: an output and a residual, each rounded to bfloat16."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.output = torch.randn(TOKENS, HIDDEN, generator=generator).bfloat16()

    def forward(self, _: Any, hidden_states: Tensor, residual: Tensor | None) -> tuple[Tensor, Tensor]:
        return self.output, hidden_states if residual is None else hidden_states + residual


@pytest.fixture
def one_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm.model_executor.models import qwen3_vl

    stage = SimpleNamespace(is_first_rank=True, is_last_rank=True)
    monkeypatch.setattr(qwen3_vl, "get_pp_group", lambda: stage)


def vllm_loop(layers: list[nn.Module], embeddings: Tensor, levels: list[Tensor]) -> Tensor:
    """The loop of vLLM's Qwen3-VL over layers, with a last norm that only adds."""
    from vllm.model_executor.models.qwen3_vl import Qwen3LLMModel

    model = SimpleNamespace(
        layers=layers,
        start_layer=0,
        end_layer=len(layers),
        norm=lambda hidden_states, residual: (hidden_states + residual, None),
        _maybe_add_hidden_state=lambda *_: [],
    )
    named = {f"deepstack_input_embeds_{rank}": level for rank, level in enumerate(levels)}
    result: Tensor = Qwen3LLMModel.forward(model, None, None, None, embeddings, named)
    return result


def transformers_loop(layers: list[nn.Module], embeddings: Tensor, levels: list[Tensor]) -> Tensor:
    hidden_states = embeddings
    for rank, layer in enumerate(layers):
        hidden_states = hidden_states + layer.output
        if rank < len(levels):
            hidden_states = hidden_states + levels[rank]
    return hidden_states


@pytest.mark.parametrize("layers", [LAYERS, LEVELS], ids=["levels on the first layers", "levels on all layers"])
def test_deepstack_is_added_in_the_order_of_transformers(one_stage: None, layers: int) -> None:
    from tliveomni_eval.model_adapters.tliveomni_vllm.deepstack_order import add_residual_before_deepstack

    generator = torch.Generator().manual_seed(9)
    embeddings, *levels = (torch.randn(TOKENS, HIDDEN, generator=generator).bfloat16() for _ in range(1 + LEVELS))
    stack: list[nn.Module] = [MlpAndResidual(seed) for seed in range(layers)]
    expected = transformers_loop(stack, embeddings, levels)
    off = vllm_loop(stack, embeddings, levels)
    add_residual_before_deepstack(stack, LEVELS)
    on = vllm_loop(stack, embeddings, levels)
    assert torch.equal(on, expected)
    assert 0.2 < float((off != expected).float().mean()) < 0.9


def norms(width: int) -> tuple[Any, Any, Any]:
    """Transformers' norm, vLLM's, and ours, with the same weight."""
    from tliveomni_eval.model_adapters.tliveomni_vllm.transformers_norm import use_transformers_norms
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.model_executor.layers.layernorm import RMSNorm

    weight = 1 + 0.1 * torch.randn(width, generator=torch.Generator().manual_seed(1))
    theirs = Qwen3VLTextRMSNorm(width, eps=1e-6)
    theirs.weight.data.copy_(weight)
    with set_current_vllm_config(VllmConfig()):
        vllm_norm, replaced = RMSNorm(width, eps=1e-6), nn.ModuleDict({"q_norm": RMSNorm(width, eps=1e-6)})
    assert use_transformers_norms(replaced) == 1
    for norm in (vllm_norm, replaced["q_norm"]):
        norm.weight.data.copy_(weight)
        norm.bfloat16()
    return theirs.bfloat16(), vllm_norm, replaced["q_norm"]


def test_norms_add_and_round_in_the_order_of_transformers() -> None:
    theirs, vllm_norm, ours = norms(HIDDEN)
    generator = torch.Generator().manual_seed(2)
    x, residual = (torch.randn(TOKENS, HIDDEN, generator=generator).bfloat16() for _ in range(2))
    total = residual + x
    normalized, handed_on = ours(x, residual)
    assert torch.equal(handed_on, total)
    assert torch.equal(normalized, theirs(total))
    off, _ = vllm_norm.forward_native(x.clone(), residual.clone())
    assert 0.05 < float((off != theirs(total)).float().mean()) < 0.6


def test_q_and_k_norms_equal_those_of_transformers() -> None:
    theirs, _, ours = norms(32)
    heads = torch.randn(TOKENS, 4, 32, generator=torch.Generator().manual_seed(3)).bfloat16()
    assert torch.equal(ours(heads), theirs(heads))
