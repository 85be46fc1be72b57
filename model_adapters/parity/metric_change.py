"""How a task's metric differs between the answers of two sides, with its interval."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
from tliveomni_eval.evals.gate.pairing import metric_pair, pair_samples
from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.run_folder import read_run
from tliveomni_eval.evals.logs.task_log import TaskLog
from tliveomni_eval.evals.parity_report import MetricChange
from tliveomni_eval.evals.statistics.inference import compare_slices

CONFIDENCE = 0.95
_RECORD = "record"


def metric_changes(
    reference: Path, candidate: Path, compared: Mapping[str, Collection[str]]
) -> dict[str, MetricChange]:
    """The change of each task's metric over the samples that were compared.

    Args:
        reference: Run folder of the transformers side.
        candidate: Run folder of the vLLM side.
        compared: Task to the ids of its compared samples; tasks without one are left out.

    Raises:
        LogError: A log cannot be read.
    """
    wanted = [task for task, ids in compared.items() if ids]
    ours, theirs = read_run(reference, wanted), read_run(candidate, wanted)
    changes = {
        task: metric_change(ours.tasks[task], theirs.tasks[task], compared[task])
        for task in wanted
        if task in ours.tasks and task in theirs.tasks
    }
    return {task: change for task, change in changes.items() if change is not None}


def metric_change(reference: TaskLog, candidate: TaskLog, compared: Collection[str]) -> MetricChange | None:
    """The change of a task's headline, or of its first metric that is a ratio; None where there is none.

    The interval is that of the absolute loss in `evals/statistics`, turned to the metric's own direction.

    Args:
        reference: Log of the transformers side.
        candidate: Log of the vLLM side.
        compared: Ids of the samples to count.
    """
    pair, _ = pair_samples(reference, candidate)
    members = np.array(
        [index for index, where in enumerate(pair.baseline_positions) if reference.ids[where] in compared],
        dtype=np.intp,
    )
    for metric in dict.fromkeys([reference.headline, *reference.metrics]):
        column = reference.metrics.get(metric)
        if metric == _RECORD or column is None or column.payloads is not None or column.higher_is_better is None:
            continue
        try:
            sums, present = metric_pair(pair, metric, "ratio", None)
        except LogError:
            continue
        having = members[present[members]]
        if having.size == 0:
            continue
        (found,) = compare_slices(sums({"compared": having}), loss_kind="absolute", confidence=CONFIDENCE, replicates=0)
        sign = -1.0 if column.higher_is_better else 1.0
        ends = sorted((sign * found.low, sign * found.high))
        known = all(map(math.isfinite, ends))
        reference_value, candidate_value = (
            quality if column.higher_is_better else 1 - quality
            for quality in (found.quality_baseline, found.quality_candidate)
        )
        if not (math.isfinite(reference_value) and math.isfinite(candidate_value)):
            continue
        return MetricChange(
            metric=metric,
            higher_is_better=column.higher_is_better,
            reference=reference_value,
            candidate=candidate_value,
            change=candidate_value - reference_value,
            low=ends[0] if known else None,
            high=ends[1] if known else None,
            confidence=CONFIDENCE,
            clusters=found.n_clusters,
        )
    return None
