"""Builds the release matrix from the gate's verdicts: rows task → slice attribute → value, one cell a candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tliveomni_eval.evals.gate.pairing import WHOLE_TASK
from tliveomni_eval.evals.gate.verdict import SliceVerdict, Verdict
from tliveomni_eval.leaderboard.page_data import Cell, MatrixRow, NoiseFigures
from tliveomni_eval.leaderboard.paired_samples import PairedSamples

_ABSENT = Cell(verdict="MISSING", note="this candidate has no result here")


def build_rows(tasks: Mapping[str, PairedSamples], verdicts: Sequence[Verdict]) -> list[MatrixRow]:
    """All rows, tasks in order, the whole task first and then its slices.

    Args:
        tasks: Task name to its samples.
        verdicts: One a candidate.
    """
    rows = []
    judged = [{(one.task, one.slice, one.metric): one for one in verdict.slices} for verdict in verdicts]
    for task, paired in tasks.items():
        headline = paired.metrics[0]
        names: list[tuple[str | None, str | None]] = [(None, None)]
        names += [(name.attribute, name.value) for name in paired.slices]
        names += _only_in_verdicts(task, names, verdicts)
        for attribute, value in names:
            key = (task, _gate_name(attribute, value), headline)
            found = [of_candidate.get(key) for of_candidate in judged]
            rule = next((one.rule for one in found if one is not None), None)
            rows.append(
                MatrixRow(
                    task=task,
                    attribute=attribute,
                    value=value,
                    budget=rule.budget if rule else 0.015,
                    loss_kind=rule.loss if rule else "relative",
                    cells=[_cell(one, paired.higher_is_better[0]) for one in found],
                    noise=_noise(found),
                )
            )
    return rows


def _gate_name(attribute: str | None, value: str | None) -> str:
    return WHOLE_TASK if attribute is None else f"{attribute}={value}"


def _only_in_verdicts(
    task: str, known: Sequence[tuple[str | None, str | None]], verdicts: Sequence[Verdict]
) -> list[tuple[str | None, str | None]]:
    """Slices that the policy requires but no sample has."""
    names = {_gate_name(*name) for name in known}
    extra: dict[str, None] = {}
    for verdict in verdicts:
        extra |= dict.fromkeys(one.slice for one in verdict.slices if one.task == task and one.slice not in names)
    return [(name.partition("=")[0], name.partition("=")[2]) for name in extra]


def _noise(found: Sequence[SliceVerdict | None]) -> NoiseFigures | None:
    """The same for every candidate: it compares the baseline with itself."""
    noise = next((one.noise for one in found if one is not None and one.noise is not None), None)
    if noise is None:
        return None
    return NoiseFigures(loss=noise.loss, low=noise.low, high=noise.high, flip_rate=noise.flip_rate)


def _cell(judged: SliceVerdict | None, higher_is_better: bool) -> Cell:
    if judged is None:
        return _ABSENT
    values = [judged.baseline_value, judged.candidate_value]
    before, after = values if higher_is_better else [None if value is None else 1 - value for value in values]
    return Cell(
        verdict=judged.outcome,
        gated=judged.counts,
        loss=judged.loss,
        low=judged.low,
        high=judged.high,
        baseline_quality=before,
        candidate_quality=after,
        n=judged.samples,
        clusters=judged.clusters,
        broke=judged.flips_worse,
        fixed=judged.flips_better,
        flip_rate=judged.flip_rate,
        inside_noise=judged.noise.inside if judged.noise else None,
        further_clusters=judged.further_clusters,
        note=judged.note,
    )
