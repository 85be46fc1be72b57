"""What a manifest line of an image task must hold, checked for `tlive data check` by the scorer that will read it."""

from __future__ import annotations

from collections.abc import Callable

from tliveomni_eval.evals.metrics.answerability import score_answerability
from tliveomni_eval.evals.metrics.circular_eval import score_choice
from tliveomni_eval.evals.metrics.closed_answer import score_closed_answer
from tliveomni_eval.evals.metrics.number_answer import score_chart_value, score_count
from tliveomni_eval.evals.metrics.ocr import score_ocr
from tliveomni_eval.tasks.manifest import Fault, Sample


class _Misplaced(Exception):
    """A value of the wrong type, with the field that holds it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def _reference(sample: Sample) -> str:
    if not isinstance(sample.reference, str):
        raise _Misplaced("reference", f"must be a text, got {sample.reference!r:.80}")
    return sample.reference


def _options(sample: Sample) -> dict[str, object]:
    options = sample.context.get("options")
    if not isinstance(options, dict):
        raise _Misplaced("context.options", f'must be an object such as {{"A": "red"}}, got {options!r:.80}')
    return dict(options)


def _check_table(sample: Sample) -> None:
    score_ocr(_reference(sample), "", "table")


def _check_count(sample: Sample) -> None:
    score_count(_reference(sample), "")


def _check_chart(sample: Sample) -> None:
    score_chart_value(_reference(sample), "")


def _check_relation(sample: Sample) -> None:
    allowed = sample.context.get("options")
    if not isinstance(allowed, list) or not all(isinstance(item, str) for item in allowed):
        raise _Misplaced("context.options", f"must be the list of the answers that are allowed, got {allowed!r:.80}")
    score_closed_answer(_reference(sample), "", [str(item) for item in allowed])


def _check_answerability(sample: Sample) -> None:
    score_answerability(None if sample.reference is None else _reference(sample), "")


def _check_choice(sample: Sample) -> None:
    index = sample.context.get("index")
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        message = f"must be the question's number plus rotation times 1,000,000, got {index!r:.80}"
        raise _Misplaced("context.index", message)
    score_choice(index, _options(sample), _reference(sample), "")


CHECKS: dict[str, Callable[[Sample], None]] = {
    "live_chart": _check_chart,
    "live_counting": _check_count,
    "live_spatial": _check_relation,
    "live_table": _check_table,
    "live_unanswerable": _check_answerability,
    "mmbench_circular_cn": _check_choice,
    "mmbench_circular_en": _check_choice,
    "mmbench_circular_mini": _check_choice,
}


def picture_faults(sample: Sample, number: int) -> list[Fault]:
    """What is wrong in the reference and context of a sample; nothing for tasks of other kinds.

    Args:
        sample: A line of a manifest.
        number: Its line number.
    """
    check = CHECKS.get(sample.task)
    if check is None:
        return []
    try:
        check(sample)
    except _Misplaced as error:
        return [Fault(number, error.field, str(error))]
    except ValueError as error:
        return [Fault(number, "reference", str(error))]
    return []
