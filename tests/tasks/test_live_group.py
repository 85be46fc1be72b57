"""`live` from data to metric: the reference as an answer is perfect, no answer is nothing, and no sample is lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from declared_adapters import OracleAdapter, SilentAdapter
from lmms_eval.evaluator import simple_evaluate
from task_runs import manager
from tliveomni_eval.evals.metrics.set_payload import DetectionPayload, weighted_average_precision
from tliveomni_eval.tasks.task_index import read_task_index

GROUP = "live"
TASKS = read_task_index()[GROUP].members


def evaluated(model: Any) -> dict[str, Any]:
    """What lmms-eval returns for the whole group, every sample of it."""
    results: dict[str, Any] = simple_evaluate(
        model=model,
        tasks=[GROUP],
        task_manager=manager(),
        log_samples=True,
        bootstrap_iters=0,
        batch_size=1,
        cli_args=None,
    )
    return results


@pytest.fixture(scope="module")
def oracle() -> dict[str, Any]:
    return evaluated(OracleAdapter())


@pytest.fixture(scope="module")
def silent() -> dict[str, Any]:
    return evaluated(SilentAdapter())


def rates(results: dict[str, Any], task: str) -> Iterator[tuple[str, str, float]]:
    """Slice, metric and rate, for the whole task and every slice, where there is something to count."""
    better = results["higher_is_better"][task]
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    payloads: dict[tuple[str, str], list[DetectionPayload]] = defaultdict(list)
    for sample in results["samples"][task]:
        slices = ["all", *(f"{key}={value}" for key, value in sample["record"]["slices"].items())]
        for metric in better:
            logged = sample.get(metric)
            if metric == "record" or logged is None:
                continue
            for name in slices:
                if "kind" in logged:
                    payloads[name, metric].append(DetectionPayload.from_logged(logged))
                else:
                    sums[name, metric][0] += logged["num"]
                    sums[name, metric][1] += logged["den"]
    for (name, metric), (num, den) in sums.items():
        if den:
            yield name, metric, num / den
    for (name, metric), collected in payloads.items():
        value = weighted_average_precision(collected)
        if value is not None:
            yield name, metric, value


@pytest.mark.parametrize("task", TASKS)
def test_the_reference_as_an_answer_is_perfect_on_every_slice(oracle: dict[str, Any], task: str) -> None:
    better = oracle["higher_is_better"][task]
    found = list(rates(oracle, task))
    assert {name.split("=")[0] for name, _, _ in found} >= set(read_task_index()[task].metadata["slices"])
    assert [item for item in found if item[2] != (1.0 if better[item[1]] else 0.0)] == []


@pytest.mark.parametrize("task", TASKS)
def test_no_answer_scores_nothing_on_every_slice(silent: dict[str, Any], task: str) -> None:
    better = silent["higher_is_better"][task]
    headline = read_task_index()[task].metadata["headline"]
    found = list(rates(silent, task))
    assert any(metric == headline for _, metric, _ in found)
    assert [item for item in found if better[item[1]] and item[2] != 0.0] == []
    assert [item for item in found if item[1] == headline and not better[headline] and item[2] != 1.0] == []


@pytest.mark.parametrize("task", TASKS)
def test_no_sample_is_missing_and_each_says_what_became_of_it(
    oracle: dict[str, Any], silent: dict[str, Any], task: str
) -> None:
    expected = read_task_index()[task].embedded_samples
    for results, statuses in ((oracle, {"ok"}), (silent, {"empty"})):
        samples = results["samples"][task]
        assert len(samples) == len({sample["record"]["id"] for sample in samples}) == expected
        assert {sample["record"]["status"] for sample in samples} <= statuses | (
            {"ok"} if task == "live_asr" else set()
        )
