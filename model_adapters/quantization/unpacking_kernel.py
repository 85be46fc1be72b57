"""A vLLM kernel that runs 4-bit weights on CPUs for which vLLM has none.

vLLM selects `CPUWNA16LinearKernel` for every CPU, but compiles its `cpu_gemm_wna16` only for AVX-512: on a CPU with
AVX2 alone a W4A16 checkpoint loads and then fails at the first token. This kernel unpacks the 4-bit weights into 16-bit
ones while loading and multiplies those. The numbers are those of the quantized checkpoint; the saving of memory is
lost, which matters little where one only evaluates.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import torch
from vllm.model_executor.kernels.linear import MPLinearKernel, MPLinearLayerConfig, register_linear_kernel
from vllm.model_executor.layers.quantization.utils.quant_utils import unpack_quantized_values_into_int32
from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm
from vllm.platforms import current_platform
from vllm.scalar_type import scalar_types

_WITHOUT_AVX2_BUILD = "CPUWNA16LinearKernel"


class UnpackingWNA16LinearKernel(MPLinearKernel):  # type: ignore[misc]
    """Multiplies with 4-bit weights that were unpacked to the type of the activations when they were loaded."""

    @classmethod
    def get_min_capability(cls) -> int:
        """Any CPU."""
        return -1

    @classmethod
    def can_implement(cls, c: MPLinearLayerConfig) -> tuple[bool, str | None]:
        """Whether the kernel can run a layer, and if not, why not.

        Args:
            c: What vLLM knows of the layer; the name is vLLM's.
        """
        if not current_platform.is_cpu():
            return False, "UnpackingWNA16LinearKernel is for CPUs only"
        if c.weight_type not in (scalar_types.uint4, scalar_types.uint4b8):
            return False, f"UnpackingWNA16LinearKernel knows 4-bit weights, not {c.weight_type}"
        return True, None

    def process_weights_after_loading(self, layer: torch.nn.Module) -> None:
        """Replaces the packed weight of a layer by the 16-bit matrix that it stands for."""
        packed, scale = getattr(layer, self.w_q_name), getattr(layer, self.w_s_name)
        quantized = unpack_quantized_values_into_int32(packed.data, self.config.weight_type, packed.packed_dim)
        quantized = quantized if packed.output_dim == 0 else quantized.t()
        scales = scale.data if scale.output_dim == 0 else scale.data.t()
        zero_points: torch.Tensor | int = 8
        if self.config.zero_points:
            assert self.w_zp_name is not None
            zeros = getattr(layer, self.w_zp_name)
            unpacked = unpack_quantized_values_into_int32(zeros.data, self.config.weight_type, zeros.packed_dim)
            zero_points = (unpacked if zeros.output_dim == 0 else unpacked.t()).unsqueeze(-1)
        weight = dequantize(quantized, scales, zero_points).to(self.config.act_type)
        for name in (self.w_q_name, self.w_s_name, self.w_zp_name):
            if name is not None and getattr(layer, name, None) is not None:
                delattr(layer, name)
        layer.weight = torch.nn.Parameter(weight, requires_grad=False)
        dispatch_cpu_unquantized_gemm(layer, remove_weight=False)

    def apply_weights(self, layer: torch.nn.Module, x: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        """The layer's output for inputs of shape (tokens, in)."""
        output: torch.Tensor = layer.cpu_linear(x, layer.weight, bias)
        return output


def dequantize(quantized: torch.Tensor, scales: torch.Tensor, zero_points: torch.Tensor | int) -> torch.Tensor:
    """The float32 matrix that quantized values stand for.

    Args:
        quantized: Integers of shape (out, in).
        scales: Scales of shape (out, groups); `groups` divides `in`.
        zero_points: The integer that stands for 0, or one for each group, of shape (out, groups, 1).
    """
    rows, columns = quantized.shape
    grouped = quantized.reshape(rows, scales.shape[1], -1) - zero_points
    return (grouped.float() * scales.float().unsqueeze(-1)).reshape(rows, columns)


def register_unpacking_kernel() -> bool:
    """Offers the kernel to vLLM if this is a CPU without vLLM's own; returns whether it did.

    vLLM asks its kernels in order and takes the first that says yes; its own says yes without looking for the compiled
    code, so it is switched off by vLLM's variable for that. Calling this twice does no harm.
    """
    if not current_platform.is_cpu() or _has_compiled_kernel():
        return False
    disabled = [name for name in os.environ.get("VLLM_DISABLED_KERNELS", "").split(",") if name]
    # A worker process inherits the variable but not the registration.
    if _WITHOUT_AVX2_BUILD not in disabled:
        os.environ["VLLM_DISABLED_KERNELS"] = ",".join([*disabled, _WITHOUT_AVX2_BUILD])
    _register_once()
    return True


@cache
def _register_once() -> None:
    register_linear_kernel(UnpackingWNA16LinearKernel, current_platform._enum, "mp")


def _has_compiled_kernel() -> bool:
    import vllm._custom_ops as custom_operations  # loads the compiled library that suits the CPU

    compiled: Any = getattr(custom_operations.torch.ops, "_C", None)
    return hasattr(compiled, "cpu_gemm_wna16")
