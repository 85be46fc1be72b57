"""Weights under training: bfloat16 copies that the passes use, float32 masters, their average, and the optimizer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

AUXILIARY = "auxiliary."
"""Prefix of weights that only training needs."""
_SHARD_BYTES = 14 * 2**20


def initial_weights(model: Any, extra: Mapping[str, torch.Tensor], seed: int) -> dict[str, torch.Tensor]:
    """Starting values by name: a width-scaled initialisation of every matrix, the rest as the model has it.

    transformers' constant 0.02 is made for widths in the thousands; at 200 it starves the first steps of signal.
    """
    generator = torch.Generator().manual_seed(seed)
    weights: dict[str, torch.Tensor] = {}
    depth = model.config.text_config.num_hidden_layers
    for name, parameter in model.named_parameters():
        value = parameter.detach().clone().float()
        if "embed" in name and "patch_embed" not in name:
            value = torch.randn(value.shape, generator=generator) * 0.04
        elif value.dim() >= 2:
            value = torch.randn(value.shape, generator=generator) * value[0].numel() ** -0.5
            if name.endswith(("o_proj.weight", "down_proj.weight", "attn.proj.weight", "mlp.linear_fc2.weight")):
                value = value / math.sqrt(2 * depth)
        weights[name] = value
    return {**weights, **{name: value.clone() for name, value in extra.items()}}


class TrainingState:
    """Everything that an optimizer step changes.

    Attributes:
        weights: What the passes use, in the compute dtype, by name.
        masters: float32 masters, in the same order.
        averages: Exponential moving average of the masters.
    """

    def __init__(
        self, initial: Mapping[str, torch.Tensor], device: torch.device, average_decay: float, weight_decay: float
    ) -> None:
        dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        self.names = list(initial)
        self.masters = [initial[name].to(device, torch.float32).clone() for name in self.names]
        self.averages = [master.clone() for master in self.masters]
        self.weights = {
            name: master.to(dtype, copy=True).requires_grad_()
            for name, master in zip(self.names, self.masters, strict=True)
        }
        self._parameters = list(self.weights.values())
        self._gradients = [torch.zeros_like(parameter) for parameter in self._parameters]
        for master in self.masters:
            master.grad = torch.zeros_like(master)
        self._master_gradients = [master.grad for master in self.masters]
        self._average_share = 1 - average_decay
        self.gradient_norm = torch.zeros((), device=device)
        self.rate = torch.zeros((), device=device)
        decayed = [master for master in self.masters if master.dim() >= 2]
        kept = [master for master in self.masters if master.dim() < 2]
        on_gpu = device.type == "cuda"
        self.optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": weight_decay}, {"params": kept, "weight_decay": 0.0}],
            lr=self.rate,
            betas=(0.9, 0.98),
            fused=True if on_gpu else None,
            capturable=on_gpu,
            foreach=None if on_gpu else False,
        )

    def add_gradients(self, loss: torch.Tensor) -> None:
        """Adds the gradients of a loss; weights that it does not reach are left alone."""
        found = torch.autograd.grad(loss, self._parameters, allow_unused=True)
        pairs = [(total, new) for total, new in zip(self._gradients, found, strict=True) if new is not None]
        torch._foreach_add_([total for total, _ in pairs], [new for _, new in pairs])

    def step(self) -> None:
        """One optimizer step from the added gradients, which are then zeroed."""
        with torch.no_grad():
            torch._foreach_copy_(self._master_gradients, self._gradients)
            self.gradient_norm.copy_(torch.nn.utils.clip_grad_norm_(self.masters, 1.0, foreach=True))
            self.optimizer.step()
            torch._foreach_copy_([parameter.data for parameter in self._parameters], self.masters)
            torch._foreach_lerp_(self.averages, self.masters, self._average_share)
            torch._foreach_zero_(self._gradients)

    def restart(self) -> None:
        """Forgets what warm-up passes left in gradients and optimizer."""
        with torch.no_grad():
            torch._foreach_zero_(self._gradients)
            for values in self.optimizer.state.values():
                for value in values.values():
                    value.zero_()

    def averaged_weights(self) -> dict[str, torch.Tensor]:
        """The averaged weights in bfloat16, which is what a checkpoint will hold, cast to the compute dtype."""
        dtype = self._parameters[0].dtype
        return {
            name: average.to(torch.bfloat16).to(dtype) for name, average in zip(self.names, self.averages, strict=True)
        }

    def save(self, folder: Path) -> None:
        """Writes masters in float32 (`masters-*.safetensors`) and averages in bfloat16 (`weights-*.safetensors`).

        Shards stay under 14 MiB. The optimizer is not kept: a resumed run warms up again.
        """
        folder.mkdir(parents=True, exist_ok=True)
        _save_shards(folder, "masters", dict(zip(self.names, self.masters, strict=True)))
        averages = zip(self.names, self.averages, strict=True)
        _save_shards(folder, "weights", {n: v.to(torch.bfloat16) for n, v in averages if not n.startswith(AUXILIARY)})


def load_masters(folder: Path) -> dict[str, torch.Tensor]:
    """The masters that a run left, or the weights of a published checkpoint as float32.

    Raises:
        FileNotFoundError: If there are none.
    """
    from safetensors.torch import load_file

    shards = sorted(folder.glob("masters-*.safetensors")) or sorted(folder.glob("model.safetensors"))
    if not shards:
        raise FileNotFoundError(f"{folder} holds no masters-*.safetensors and no model.safetensors to resume from")
    return {name: value.float() for shard in shards for name, value in load_file(shard).items()}


def _save_shards(folder: Path, stem: str, tensors: Mapping[str, torch.Tensor]) -> None:
    from safetensors.torch import save_file

    shards: list[dict[str, torch.Tensor]] = [{}]
    size = 0
    for name, tensor in tensors.items():
        if size + tensor.nbytes > _SHARD_BYTES and shards[-1]:
            shards.append({})
            size = 0
        shards[-1][name] = tensor.detach().to("cpu").contiguous()
        size += tensor.nbytes
    for number, shard in enumerate(shards):
        save_file(shard, folder / f"{stem}-{number}.safetensors")
