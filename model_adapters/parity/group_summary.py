"""Rows of the report: the samples of a task, of a modality, and all, each summed from its tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from tliveomni_eval.evals.parity_report import GroupKind, MetricChange, ParityGroup
from tliveomni_eval.model_adapters.parity.sample_difference import SampleDifference
from tliveomni_eval.model_adapters.parity.token_scores import SideRecord


def summarize(
    differences: Sequence[SampleDifference],
    not_compared: Sequence[SideRecord],
    tasks: Sequence[str],
    metrics: Mapping[str, MetricChange],
) -> tuple[ParityGroup, ...]:
    """The rows for all samples, for each task in the given order, and for each modality by name.

    Args:
        differences: Samples that were compared.
        not_compared: Samples that were not, with their reasons.
        tasks: Order of the tasks.
        metrics: Task to the change of its metric, where there is one.
    """
    rows = [group_row("all", "all", differences, not_compared, None)]
    for task in tasks:
        of_task = [one for one in differences if one.reference.task == task]
        skipped = [one for one in not_compared if one.task == task]
        if of_task or skipped:
            rows.append(group_row("task", task, of_task, skipped, metrics.get(task)))
    for modality in sorted({one.reference.modality for one in differences} | {one.modality for one in not_compared}):
        of_modality = [one for one in differences if one.reference.modality == modality]
        skipped = [one for one in not_compared if one.modality == modality]
        rows.append(group_row("modality", modality, of_modality, skipped, None))
    return tuple(rows)


def group_row(
    kind: GroupKind,
    name: str,
    differences: Sequence[SampleDifference],
    not_compared: Sequence[SideRecord],
    metric: MetricChange | None,
) -> ParityGroup:
    """One row; its means are over tokens, so that a long answer counts more than a short one.

    Args:
        kind: What the samples have in common.
        name: Name of the row.
        differences: Those that were compared.
        not_compared: Those that were not.
        metric: Change of the task's metric.
    """
    reasons = "; ".join(reason for reason, _ in Counter(one.reason for one in not_compared).most_common())
    if not differences:
        return ParityGroup(kind=kind, name=name, samples=0, tokens=0, not_compared=len(not_compared), reason=reasons)
    delta = np.concatenate([one.delta for one in differences])
    kl = np.concatenate([one.kl for one in differences])
    divergences = [one.first_divergence for one in differences if one.first_divergence is not None]
    same_text = [one.reference.text == one.candidate.text for one in differences]
    return ParityGroup(
        kind=kind,
        name=name,
        samples=len(differences),
        tokens=delta.size,
        mean_delta=float(delta.mean()),
        max_delta=float(delta.max()),
        mean_kl=float(kl.mean()),
        max_kl=float(kl.max()),
        same_argmax=float(np.concatenate([one.same_argmax for one in differences]).mean()),
        diverging_samples=len(divergences),
        earliest_divergence=min(divergences, default=None),
        same_text=sum(same_text) / len(same_text),
        different_prompts=sum(not one.same_prompt_length for one in differences),
        metric=metric,
        not_compared=len(not_compared),
        reason=reasons,
        note=_note(differences),
    )


def _note(differences: Sequence[SampleDifference]) -> str:
    notes = [
        f"without the {kind} in {count} of {len(differences)} samples"
        for kind, count in sorted(Counter(kind for one in differences for kind in one.reference.left_out).items())
    ]
    if cut := sum(one.reference.cut for one in differences):
        notes.append(f"{cut} of {len(differences)} answers cut short")
    return "; ".join(notes)
