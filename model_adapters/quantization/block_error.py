"""What quantization did inside: how far each block's output moved, and what that did to the answers' tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

_BLOCK = re.compile(r"(^|\.)(layers|blocks)\.\d+$")


@dataclass(frozen=True, slots=True)
class ProbeOutputs:
    """What a model computes on the probe samples.

    Attributes:
        blocks: Outputs of each block by module name, one tensor a sample, on the CPU.
        log_probabilities: Log probabilities over the vocabulary at the positions that predict the answer's tokens, one
            tensor (tokens, vocabulary) a sample.
    """

    blocks: dict[str, list[Any]]
    log_probabilities: list[Any]


@dataclass(frozen=True, slots=True)
class ProbeError:
    """How a quantized model differs from its source on the probe samples.

    Attributes:
        relative_error: ‖quantized − source‖ / ‖source‖ of each block's output, by module name. Errors of the blocks
            before it are included: it is how wrong the stream is after that block.
        kl_divergence: Mean KL(source ‖ quantized) over the answers' tokens in nats.
        top1_agreement: Share of the answers' tokens where both would greedily choose the same token.
        tokens: Number of those tokens.
    """

    relative_error: dict[str, float]
    kl_divergence: float
    top1_agreement: float
    tokens: int


def probe(model: Any, samples: Sequence[tuple[dict[str, Any], int]]) -> ProbeOutputs:
    """Runs a model on encoded samples and keeps what its blocks and its head put out.

    Args:
        model: A transformers model.
        samples: As `calibration.encode_sample` returns them.
    """
    import torch

    log_probabilities = []
    with torch.no_grad(), _captured_blocks(model) as blocks:
        for inputs, answer_start in samples:
            on_device = {key: value.to(model.device) for key, value in inputs.items()}
            logits = model(**on_device).logits[0, answer_start - 1 : -1].float()
            log_probabilities.append(torch.log_softmax(logits, dim=-1).cpu())
    return ProbeOutputs(blocks, log_probabilities)


def compare_probes(source: ProbeOutputs, quantized: ProbeOutputs) -> ProbeError:
    """Compares the outputs of two models on the same samples.

    Args:
        source: Of the 16-bit model.
        quantized: Of the quantized one.
    """
    errors = {}
    for name, expected in source.blocks.items():
        pairs = list(zip(expected, quantized.blocks[name], strict=True))
        difference = sum(float((b.float() - a.float()).square().sum()) for a, b in pairs)
        energy = sum(float(a.float().square().sum()) for a in expected)
        errors[name] = (difference / energy) ** 0.5 if energy > 0 else 0.0
    divergence, agreed, tokens = 0.0, 0, 0
    for p, q in zip(source.log_probabilities, quantized.log_probabilities, strict=True):
        divergence += float((p.exp() * (p - q)).sum())
        agreed += int((p.argmax(-1) == q.argmax(-1)).sum())
        tokens += p.shape[0]
    return ProbeError(errors, divergence / tokens, agreed / tokens, tokens)


@contextmanager
def _captured_blocks(model: Any) -> Iterator[dict[str, list[Any]]]:
    outputs: dict[str, list[Any]] = {}
    handles = []

    def keep(name: str) -> Any:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            hidden = output[0] if isinstance(output, tuple) else output
            outputs[name].append(hidden.detach().cpu().clone())

        return hook

    for name, module in model.named_modules():
        if _BLOCK.search(name):
            outputs[name] = []
            handles.append(module.register_forward_hook(keep(name)))
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()
