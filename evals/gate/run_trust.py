"""Whether runs can be trusted and make the same tokens of a sample: canaries, given-up samples, template, tokenizer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tliveomni_eval.evals.canaries.canary_result import CANARY_NAMES, failures
from tliveomni_eval.evals.gate.pairing import samples_with_status
from tliveomni_eval.evals.gate.verdict import Problem
from tliveomni_eval.evals.logs.run_folder import Run

INPUT_FIELDS = {"chat_template": "template", "tokenizer": "tokenizer"}
"""Part of `run.json`'s `input_processing` to the field that `--allow` names; any other part is a `processor`."""

QUARANTINED = "quarantined"
TRUST_FIELDS = (
    *INPUT_FIELDS.values(),
    "processor",
    QUARANTINED,
    *(f"canary:{name}" for name in CANARY_NAMES),
)


def trust_problems(role: str, run: Run) -> list[Problem]:
    """What speaks against one run by itself.

    Args:
        role: `baseline` or `candidate`, for messages.
        run: The run.
    """
    if run.run_info is None:
        return []
    problems = [
        Problem(task=None, field=f"canary:{result.name}", message=f"{run.path}: {role}: {result.summary}")
        for result in failures(run.run_info.canaries)
    ]
    counts = Counter(sample.task for sample in run.run_info.quarantined)
    for task, count in counts.items():
        # Our tasks log them as errors, which the policy's `max_errors` decides on; others cannot.
        if task in run.tasks and len(samples_with_status(run.tasks[task], "error")) < count:
            first = next(sample for sample in run.run_info.quarantined if sample.task == task)
            message = (
                f"{run.path}: {role}: {count} samples have no output because the engine died of them, first document "
                f"{first.document} ({first.reason})"
            )
            problems.append(Problem(task=task, field=QUARANTINED, message=message))
    return problems


def input_differences(baseline: Run, candidate: Run) -> Iterator[Problem]:
    """Differences in chat template, tokenizer and media processors, where both runs note them.

    Args:
        baseline: The run that is the measure.
        candidate: The run that is judged.
    """
    if baseline.run_info is None or candidate.run_info is None:
        return
    ours, theirs = baseline.run_info.input_processing, candidate.run_info.input_processing
    if not ours or not theirs:
        return
    for part in sorted({*ours, *theirs}):
        if ours.get(part) != theirs.get(part):
            yield Problem(
                task=None,
                field=INPUT_FIELDS.get(part, "processor"),
                message=(
                    f"input_processing.{part} differs: baseline {ours.get(part, 'has none')[:16]}, candidate "
                    f"{theirs.get(part, 'has none')[:16]}: the checkpoints make other tokens of the same sample; take "
                    "tokenizer, template and processor files of the baseline"
                ),
            )
