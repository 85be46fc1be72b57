import os

import pytest
import torch
from tliveomni_eval.model_adapters.quantization import unpacking_kernel
from tliveomni_eval.model_adapters.quantization.unpacking_kernel import (
    UnpackingWNA16LinearKernel,
    dequantize,
    register_unpacking_kernel,
)
from vllm.model_executor.kernels.linear import MPLinearLayerConfig, choose_mp_linear_kernel
from vllm.model_executor.layers.quantization.utils.quant_utils import pack_quantized_values_into_int32
from vllm.scalar_type import scalar_types

OUT, IN = 64, 128


def kernel_config(weight_type, group_size, dtype=torch.bfloat16):
    return MPLinearLayerConfig((IN, OUT), (IN, OUT), weight_type, dtype, group_size, weight_type is scalar_types.uint4)


def parameter(data, **layout):
    made = torch.nn.Parameter(data, requires_grad=False)
    for name, value in layout.items():
        setattr(made, name, value)
    return made


def compressed_layer(weight_type, quantized, scales, zeros):
    """A layer as compressed-tensors checkpoints are loaded: packed along the inputs, zero points along the outputs."""
    layer = torch.nn.Module()
    packed = pack_quantized_values_into_int32(quantized, weight_type, 1)
    layer.weight_packed = parameter(packed, input_dim=1, output_dim=0, packed_dim=1)
    layer.weight_scale = parameter(scales, input_dim=1, output_dim=0)
    if zeros is not None:
        packed_zeros = pack_quantized_values_into_int32(zeros, weight_type, 0)
        layer.weight_zero_point = parameter(packed_zeros, input_dim=1, output_dim=0, packed_dim=0)
    return layer


@pytest.mark.parametrize("weight_type", [scalar_types.uint4b8, scalar_types.uint4], ids=str)
@pytest.mark.parametrize("group_size", [-1, 32])
def test_the_output_is_that_of_the_matrix_the_4_bits_stand_for(weight_type, group_size):
    random = torch.Generator().manual_seed(0)
    groups = 1 if group_size == -1 else IN // group_size
    quantized = torch.randint(0, 16, (OUT, IN), generator=random, dtype=torch.int32)
    scales = torch.rand((OUT, groups), generator=random).to(torch.bfloat16) + 0.5
    with_zeros = weight_type is scalar_types.uint4
    zeros = torch.randint(0, 16, (OUT, groups), generator=random, dtype=torch.int32) if with_zeros else None
    expected = torch.empty(OUT, IN)
    for row in range(OUT):
        for column in range(IN):
            group = column * groups // IN
            zero = int(zeros[row, group]) if zeros is not None else 8
            expected[row, column] = (int(quantized[row, column]) - zero) * float(scales[row, group])

    layer = compressed_layer(weight_type, quantized, scales, zeros)
    config = kernel_config(weight_type, group_size, torch.float32)
    kernel = UnpackingWNA16LinearKernel(config, "weight_packed", "weight_scale", "weight_zero_point")
    kernel.process_weights_after_loading(layer)

    torch.testing.assert_close(layer.weight.data, expected)
    inputs = torch.randn((5, IN), generator=random)
    bias = torch.randn(OUT, generator=random)
    # Sums of 128 products as large as 40 in float32, added in another order.
    torch.testing.assert_close(
        kernel.apply_weights(layer, inputs, bias), inputs @ expected.T + bias, rtol=1e-5, atol=1e-3
    )
    assert not hasattr(layer, "weight_packed"), "the packed weight must not stay in memory"


def test_dequantize_scales_each_group_of_a_row():
    quantized = torch.tensor([[0, 8, 15, 9]])
    values = dequantize(quantized, torch.tensor([[2.0, 10.0]]), 8)
    assert values.tolist() == [[-16.0, 0.0, 70.0, 10.0]]


def test_weights_of_8_bits_are_left_to_others():
    possible, reason = UnpackingWNA16LinearKernel.can_implement(kernel_config(scalar_types.uint8b128, -1))
    assert not possible and "4-bit" in reason


@pytest.mark.parametrize("compiled", [True, False])
def test_it_takes_over_only_where_vllm_has_no_kernel(monkeypatch, compiled):
    monkeypatch.setenv("VLLM_DISABLED_KERNELS", "SomeOtherKernel")
    monkeypatch.setattr(unpacking_kernel, "_has_compiled_kernel", lambda: compiled)
    assert register_unpacking_kernel() is not compiled
    assert register_unpacking_kernel() is not compiled
    disabled = os.environ["VLLM_DISABLED_KERNELS"].split(",")
    assert disabled == ["SomeOtherKernel"] + ([] if compiled else ["CPUWNA16LinearKernel"])
    chosen = choose_mp_linear_kernel(kernel_config(scalar_types.uint4b8, 32))
    assert chosen.__name__ == ("CPUWNA16LinearKernel" if compiled else "UnpackingWNA16LinearKernel")
