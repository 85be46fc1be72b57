"""Outputs of a model's modules, caught while one prompt is computed; the same names on both sides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import torch
from tliveomni_eval.evals.parity_layers import INPUT, ModuleDifference
from torch import Tensor, nn

_OBSERVED = re.compile(
    r"visual\.(patch_embed|blocks\.\d+|merger|deepstack_merger_list\.\d+)"
    r"|audio_tower\.(layers\.\d+|ln_post|proj2|deepstack_merger_list\.\d+)"
    r"|language_model\.norm"
    r"|language_model\.layers\.\d+\.(input_layernorm|post_attention_layernorm|self_attn|self_attn\.[qk]_norm|mlp)"
)
_LAYER = re.compile(r"language_model\.layers\.\d+")


def common_name(name: str) -> str:
    """The name of a module that both sides share: that of transformers, without the leading `model.`.

    Args:
        name: In a model of transformers or of vLLM.

    >>> common_name("model.language_model.norm"), common_name("language_model.model.norm")
    ('language_model.norm', 'language_model.norm')
    """
    return name.removeprefix("model.").replace("language_model.model.", "language_model.", 1)


class LayerCapture:
    """Catches outputs of towers, DeepStack mergers, norms, attention and MLPs, and inputs of language layers.

    What several calls give (parts of a prefill, media one by one) is put together along the tokens.

    Args:
        model: Of transformers or vLLM; not compiled.

    Attributes:
        outputs: Name to what it gave, (rows, width), in the order of computation.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._parts: dict[str, list[Tensor]] = {}
        self._watched: list[nn.Module] = []
        self.outputs: dict[str, Tensor] = {}

    def __enter__(self) -> Self:
        for name, module in self._model.named_modules():
            common = common_name(name)
            if _OBSERVED.fullmatch(common):
                self._watch(module, common, of_input=False)
            elif _LAYER.fullmatch(common):
                self._watch(module, common + INPUT, of_input=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for module in self._watched:
            del module.forward
        self.outputs = {name: torch.cat(parts) for name, parts in self._parts.items()}

    def _watch(self, module: nn.Module, name: str, of_input: bool) -> None:
        # Not by torch's hooks: modules that vLLM could compile call their `forward` past them.
        original = module.forward

        def forward(*arguments: Any, **given: Any) -> Any:
            if of_input:
                self._keep(name, _states_given(arguments, given))
            output = original(*arguments, **given)
            if not of_input:
                self._keep(name, output[0] if isinstance(output, tuple) else output)
            return output

        module.forward = forward
        self._watched.append(module)

    def _keep(self, name: str, tensor: Tensor) -> None:
        # A copy at once: vLLM's fused norms write into what they are given.
        rows = tensor.detach().reshape(-1, tensor.shape[-1]).to("cpu", copy=True)
        self._parts.setdefault(name, []).append(rows)


def _states_given(arguments: tuple[Any, ...], given: dict[str, Any]) -> Tensor:
    """Hidden states that a language layer is given; vLLM gives them apart from the residual that belongs to them."""
    candidates = (*arguments, given.get("hidden_states"), given.get("residual"))
    floating = [one for one in candidates if isinstance(one, Tensor) and one.is_floating_point()]
    states = floating[0]
    return states + floating[1] if len(floating) > 1 and floating[1].shape == states.shape else states


def module_differences(
    reference: dict[str, Tensor], candidate: dict[str, Tensor], sample: str
) -> Iterator[ModuleDifference]:
    """Compare what two sides caught of one sample; modules that only one of them has are left out.

    Args:
        reference: Name to (rows, width), in the order of computation.
        candidate: Likewise.
        sample: Task and id.
    """
    for name, expected in reference.items():
        found = candidate.get(name)
        if found is None:
            continue
        if found.shape != expected.shape:
            yield ModuleDifference(name=name, relative=None, max_abs=None, sample=sample)
            continue
        wanted = expected.double()
        difference = found.double() - wanted
        size = float(wanted.norm())
        yield ModuleDifference(
            name=name,
            relative=float(difference.norm()) / size if size else float(difference.norm()),
            max_abs=float(difference.abs().max()) if difference.numel() else 0.0,
            sample=sample,
        )
