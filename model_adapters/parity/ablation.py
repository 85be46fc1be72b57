"""What each alignment buys: the difference with all of them on, and with each one off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from tliveomni_eval.evals.parity_report import AblationRow
from tliveomni_eval.model_adapters.parity.sample_difference import SampleDifference


def ablation_rows(found: Mapping[str, Sequence[SampleDifference]]) -> tuple[AblationRow, ...]:
    """One row for all alignments on, one for each that is off.

    Args:
        found: The switch that is off to the samples' differences, none empty; the empty switch, all on, is among them.
    """
    base = _mean(found[""])
    return tuple(_row(switch, differences, base) for switch, differences in found.items())


def _row(switch: str, differences: Sequence[SampleDifference], base: float) -> AblationRow:
    modalities = sorted({one.reference.modality for one in differences})
    mean = _mean(differences)
    return AblationRow(
        switch=switch,
        tokens=sum(one.delta.size for one in differences),
        mean_delta=mean,
        max_delta=max(float(one.delta.max()) for one in differences),
        times_all_on=mean / base if base > 0 else None,
        different_prompts=sum(not one.same_prompt_length for one in differences),
        by_modality={
            name: _mean([one for one in differences if one.reference.modality == name]) for name in modalities
        },
    )


def _mean(differences: Sequence[SampleDifference]) -> float:
    return float(np.concatenate([one.delta for one in differences]).mean())
