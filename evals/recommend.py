"""Which variant to ship on which hardware: what it can run, what the gate allows, what was measured, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict
from tliveomni_eval.evals.gate.verdict import Outcome
from tliveomni_eval.evals.serving_figures import BenchReport

Architecture = Literal["cpu", "ampere", "ada", "hopper", "blackwell"]

FP8_HARDWARE: frozenset[Architecture] = frozenset({"ada", "hopper", "blackwell"})
"""Tensor cores that multiply FP8 (NVIDIA: compute capability 8.9 and above)."""

WEIGHT_BYTES: Mapping[str, float] = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "w8a8": 1.0, "w4a16": 0.5 + 2 / 128}
"""Bytes a weight of the language model; 4-bit groups of 128 carry a 16-bit scale each."""

RESERVED_SHARE = 0.10
"""Of the memory, for activations, graphs and the allocator; vLLM takes 90 % by default."""


FAST_MEMORY_GB_S = 1_500.0
"""Between GDDR (to about 1,000) and HBM (from about 2,000)."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """Where it shall run.

    Attributes:
        name: What people call it.
        architecture: Decides which formats its units multiply.
        memory_gb: Of one device, 10^9 bytes.
        bandwidth_gb_s: Of its memory, 10^9 bytes a second.
    """

    name: str
    architecture: Architecture
    memory_gb: float
    bandwidth_gb_s: float


KNOWN_HARDWARE: Mapping[str, Hardware] = {
    item.name: item
    for item in (
        Hardware("h200", "hopper", 141.0, 4_800.0),
        Hardware("h100", "hopper", 80.0, 3_350.0),
        Hardware("a100", "ampere", 80.0, 2_039.0),
        Hardware("l40s", "ada", 48.0, 864.0),
        Hardware("rtx4090", "ada", 24.0, 1_008.0),
        Hardware("l4", "ada", 24.0, 300.0),
    )
}
"""Memory and bandwidth as the vendor's data sheets state them."""


class Judged(BaseModel):
    """One variant.

    Attributes:
        variant: Its name.
        fit: `yes`; or why not: `memory`, `format`, `gate` (it breaches, or was not judged) or `slow` (over the limit).
        verdict: Of the gate; None for the baseline and for one that was not judged.
        weights_gb: Of the language model and what stays at 16 bit, 10^9 bytes.
        kv_gb: Left for keys and values.
        decode_floor_ms: Least time a token at batch 1: bytes of weights over bandwidth.
        seconds_per_sample: Measured, mean over workloads; None without a measurement on this hardware.
        reason: In words.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    variant: str
    fit: Literal["yes", "memory", "format", "gate", "slow"]
    verdict: Outcome | None
    weights_gb: float
    kv_gb: float
    decode_floor_ms: float
    seconds_per_sample: float | None
    reason: str


class Advice(BaseModel):
    """What to ship.

    Attributes:
        hardware: Name.
        variant: The recommended one; None where none fits.
        by: `measured` speed, or `roofline` where nothing was measured.
        reason: One or two sentences.
        variants: All, the recommended one first, then those that fit, then the others.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    hardware: str
    variant: str | None
    by: Literal["measured", "roofline"]
    reason: str
    variants: list[Judged]


@dataclass(frozen=True, slots=True)
class Need:
    """What is asked of a variant.

    Attributes:
        parameters_b: Parameters that a recipe quantizes, 10^9.
        sixteen_bit_b: Parameters that stay at 16 bit (vision, audio, embeddings), 10^9.
        kv_gb: Keys and values that must fit, 10^9 bytes.
        most_seconds: Limit of the mean seconds a sample; None for none.
        accept_inconclusive: Whether a variant may ship that the samples could not decide.
    """

    parameters_b: float
    sixteen_bit_b: float
    kv_gb: float
    most_seconds: float | None = None
    accept_inconclusive: bool = False


def advise(
    hardware: Hardware,
    need: Need,
    verdicts: Mapping[str, Outcome],
    measured: Sequence[BenchReport] = (),
    baseline: str = "bf16",
) -> Advice:
    """Judge every variant and recommend the fastest that fits.

    Speeds are compared where all variants that fit were measured over the same workloads on this hardware; else by the
    least time a token: a decoding step reads all weights once, so it cannot be faster than their bytes over the
    bandwidth (the roofline of a memory-bound kernel).

    Args:
        hardware: Where it shall run.
        need: What is asked.
        verdicts: Variant to the gate's verdict.
        measured: Reports of `tlive bench` from this hardware, one a variant.
        baseline: The 16-bit variant, which no gate judges.
    """
    names = dict.fromkeys([baseline, *verdicts, *(report.variant or report.name for report in measured)])
    speeds = _speeds(measured)
    judged = [_judge(name, hardware, need, verdicts, speeds, baseline) for name in names]
    fitting = [item for item in judged if item.fit == "yes"]
    by: Literal["measured", "roofline"] = "roofline"
    if fitting and all(item.seconds_per_sample is not None for item in fitting):
        by = "measured"
        fitting.sort(key=lambda item: (item.seconds_per_sample or 0.0, item.decode_floor_ms))
    else:
        fitting.sort(key=lambda item: (_preference(item.variant, hardware), item.decode_floor_ms))
    others = [item for item in judged if item.fit != "yes"]
    chosen = fitting[0] if fitting else None
    return Advice(
        hardware=hardware.name,
        variant=chosen.variant if chosen else None,
        by=by,
        reason=_reason(chosen, judged, hardware, by),
        variants=fitting + others,
    )


def _preference(variant: str, hardware: Hardware) -> int:
    """Order without measurements.

    Slow memory makes decoding wait for weights, so the fewest bytes come first. Fast memory feeds tensor cores, which
    multiply 8-bit activations at twice the rate of 16-bit ones, while a format of weights alone multiplies at 16 bit.
    """
    if hardware.bandwidth_gb_s < FAST_MEMORY_GB_S:
        return 0
    order = ("fp8", "w8a8", "w4a16")
    return order.index(variant) if variant in order else len(order)


def _speeds(measured: Sequence[BenchReport]) -> dict[str, float]:
    """Mean seconds a sample over the workloads that all reports have."""
    if not measured:
        return {}
    shared = set.intersection(*({row.name for row in report.workloads} for report in measured))
    speeds = {}
    for report in measured:
        seconds = [row.seconds_per_sample for row in report.workloads if row.name in shared]
        known = [value for value in seconds if value is not None]
        if known and len(known) == len(seconds):
            speeds[report.variant or report.name] = sum(known) / len(known)
    return speeds


def _judge(
    variant: str,
    hardware: Hardware,
    need: Need,
    verdicts: Mapping[str, Outcome],
    speeds: Mapping[str, float],
    baseline: str,
) -> Judged:
    weights = need.parameters_b * WEIGHT_BYTES.get(variant, 2.0) + need.sixteen_bit_b * 2.0
    room = hardware.memory_gb * (1 - RESERVED_SHARE) - weights
    verdict = None if variant == baseline else verdicts.get(variant)
    seconds = speeds.get(variant)
    allowed = ("PASS", "INCONCLUSIVE") if need.accept_inconclusive else ("PASS",)
    fit: Literal["yes", "memory", "format", "gate", "slow"] = "yes"
    reason = f"{weights:.1f} GB of weights leave {room:.1f} GB for keys and values"
    if variant != baseline and verdict not in allowed:
        fit, reason = "gate", f"the gate says {verdict}" if verdict else "the gate has not judged it"
    elif variant == "fp8" and hardware.architecture not in FP8_HARDWARE:
        fit, reason = "format", f"{hardware.architecture} multiplies no FP8"
    elif room < need.kv_gb:
        fit = "memory"
        reason = (
            f"{weights:.1f} GB of weights leave {max(room, 0.0):.1f} GB of the {need.kv_gb:g} GB for keys and values"
        )
    elif need.most_seconds is not None and seconds is not None and seconds > need.most_seconds:
        fit, reason = "slow", f"{seconds:.2f} s a sample, more than {need.most_seconds:g} s"
    return Judged(
        variant=variant,
        fit=fit,
        verdict=verdict,
        weights_gb=round(weights, 3),
        kv_gb=round(max(room, 0.0), 3),
        decode_floor_ms=round(weights / hardware.bandwidth_gb_s * 1000, 4),
        seconds_per_sample=seconds,
        reason=reason,
    )


def _reason(chosen: Judged | None, judged: Sequence[Judged], hardware: Hardware, by: str) -> str:
    if chosen is None:
        return "No variant fits: " + "; ".join(f"{item.variant}: {item.reason}" for item in judged) + "."
    if by == "measured":
        text = f"{chosen.variant}: the fastest that fits, {chosen.seconds_per_sample:.2f} s a sample measured"
    else:
        text = f"{chosen.variant}: by roofline, because not every variant that fits was measured on this hardware; "
        if hardware.bandwidth_gb_s < FAST_MEMORY_GB_S:
            text += (
                f"{hardware.bandwidth_gb_s:,.0f} GB/s make decoding wait for weights, and its are the fewest bytes of "
                f"those that fit (at least {chosen.decode_floor_ms:.2f} ms a token); {chosen.reason}"
            )
        elif chosen.variant in ("fp8", "w8a8"):
            text += f"{hardware.architecture} multiplies it at twice the rate of 16 bit; {chosen.reason}"
        else:
            text += f"nothing with 8-bit activations may ship; {chosen.reason}"
    refused = [item for item in judged if item.fit == "gate"]
    if refused:
        text += ". Refused: " + ", ".join(f"{item.variant} ({item.reason})" for item in refused)
    return text + "."
