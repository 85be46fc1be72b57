"""From what became of requests to figures; arrivals, workloads and the file they are written to."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.serving_figures import BenchReport, Slo, Workload, read_bench_report
from tliveomni_eval.evals.statistics.percentiles import percentile
from tliveomni_eval.model_adapters.serving.outcomes import Outcome, load_step, parts_of, percentiles, poisson_arrivals
from tliveomni_eval.model_adapters.serving.workloads import WORKLOADS, generated, scaled
from tliveomni_eval.tasks.image_file import image_size
from tliveomni_eval.tasks.video_file import video_size


@settings(max_examples=100)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60), st.sampled_from([0.5, 0.95, 0.99]))
def test_a_percentile_lies_in_its_interval_and_among_the_values(values, share):
    found = percentile(values, share)
    assert min(values) <= found.low <= found.value <= found.high <= max(values)
    assert math.isclose(found.value, np.quantile(values, share), abs_tol=1e-9)


def test_the_interval_of_a_percentile_covers_it():
    numbers = np.random.default_rng(3)
    truth = {0.5: math.log(2), 0.95: -math.log(0.05)}
    for share, value in truth.items():
        found = [percentile(numbers.exponential(size=200), share) for _ in range(400)]
        covered = np.mean([item.low <= value <= item.high for item in found])
        assert 0.93 <= covered <= 0.99


def outcome(start, first, last, tokens=11, **other):
    return Outcome(start, first, last, 7, tokens, **other)


def test_a_step_counts_what_succeeded_and_what_met_the_slo():
    outcomes = [
        outcome(0.0, 0.1, 1.1),
        outcome(0.5, 0.9, 1.9),
        outcome(1.0, 0.0, 3.0, error="refused"),
        outcome(1.0, 0.0, 4.0, error="late", timed_out=True),
    ]
    step = load_step("closed", 2, outcomes, Slo(ttft_s=0.2))
    assert (step.requests, step.succeeded, step.failed, step.timed_out) == (4, 2, 1, 1)
    assert step.duration_s == 4.0
    assert step.requests_per_s == 0.5
    assert step.output_tokens_per_s == 5.5
    assert step.goodput_per_s == 0.25
    assert step.ttft.p50.value == pytest.approx(0.25)
    assert step.tpot.p50.value == pytest.approx(0.1)
    assert step.errors == ["refused", "late"]
    assert load_step("closed", 2, outcomes, Slo()).goodput_per_s is None


def test_a_step_without_a_success_has_no_times_and_no_throughput():
    step = load_step("open", 1.0, [outcome(0.0, 0.0, 1.0, error="x")], Slo())
    assert (step.succeeded, step.requests_per_s, step.latency) == (0, 0.0, None)


def test_parts_are_medians_of_what_is_known():
    outcomes = [outcome(0, 1, 2, loading_s=part, queue_s=None) for part in (1.0, 2.0, 9.0)]
    parts = parts_of([*outcomes, outcome(0, 0, 1, loading_s=100.0, error="x")])
    assert (parts.loading_s, parts.queue_s) == (2.0, None)


def test_answers_of_one_token_have_no_time_per_token():
    assert outcome(0.0, 1.0, 1.0, tokens=1).tpot is None
    assert percentiles([]) is None


def test_arrivals_are_seeded_and_have_the_rate():
    assert poisson_arrivals(5.0, 100, 1) == poisson_arrivals(5.0, 100, 1) != poisson_arrivals(5.0, 100, 2)
    arrivals = poisson_arrivals(5.0, 20_000, 0)
    assert arrivals[0] == 0.0
    assert 19_999 / arrivals[-1] == pytest.approx(5.0, rel=0.03)
    gaps = np.diff(arrivals)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)


def words_and_media(messages):
    """A tokenizer of a token a word, 100 a medium and 9 of template."""
    parts = messages[0]["content"]
    words = sum(len(part["text"].split()) for part in parts if part["type"] == "text")
    return 9 + words + 100 * sum(part["type"] != "text" for part in parts)


@pytest.mark.parametrize("name", ["text", "image", "video", "audio"])
def test_generated_requests_have_the_length_to_the_token_and_differ(name, tmp_path):
    spec = scaled(WORKLOADS[name], 300, 5)
    requests = generated(spec, 3, 0, tmp_path, words_and_media)
    assert [words_and_media(request.messages) for request in requests] == [300] * 3
    assert {request.output_tokens for request in requests} == {5}
    assert len({request.messages[0]["content"][-1]["text"] for request in requests}) == 3
    media = [part["url"] for request in requests for part in request.messages[0]["content"] if part["type"] != "text"]
    contents = {Path(path).read_bytes() for path in media}
    assert len(contents) == len(media) == (0 if name == "text" else 3)
    if name == "image":
        assert image_size(tmp_path / "image-0-0.jpg") == spec.pixels
    if name == "video":
        width, height, seconds = video_size(tmp_path / "video-0-0.mp4")
        assert (width, height, round(seconds)) == (*spec.pixels, 4)


def test_media_longer_than_the_prompt_are_said(tmp_path):
    with pytest.raises(UserError, match=r"111 tokens, more than the 50"):
        generated(scaled(WORKLOADS["image"], 50, 5), 1, 0, tmp_path, words_and_media)


def report(**changes):
    now = datetime.now(UTC)
    fields = {"name": "bf16", "backend": "vllm", "model": "m", "timeout_s": 9.0, "start": now, "end": now}
    return BenchReport(
        **fields, workloads=[Workload(name="image", modality="image", seconds_per_sample=0.5)], **changes
    )


def test_the_file_is_read_as_written_and_a_fault_names_its_field(tmp_path):
    report().write(tmp_path / "bench.json")
    assert read_bench_report(tmp_path) == report().model_copy(
        update={"start": read_bench_report(tmp_path).start, "end": read_bench_report(tmp_path).end}
    )
    text = (tmp_path / "bench.json").read_text().replace('"seconds_per_sample": 0.5', '"seconds_per_sample": -1')
    (tmp_path / "bench.json").write_text(text)
    with pytest.raises(LogError, match=r"workloads\.0\.seconds_per_sample"):
        read_bench_report(tmp_path / "bench.json")
