"""A real `vllm serve` with the embedded checkpoint on loopback: one start for all tests."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from tliveomni_eval.evals.serving_figures import read_bench_report
from tliveomni_eval.model_adapters.nano.embedded_checkpoints import checkpoint_path
from tliveomni_eval.model_adapters.server_backend.adapter import TLiveOmniServer
from tliveomni_eval.model_adapters.serving import bench_command
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA
from tliveomni_eval.tasks.live_task import document, messages
from tliveomni_eval.tasks.manifest import Sample, read_lines

FOLDER = EMBEDDED_DATA / "live_ocr"
SAMPLES = 6
STARTUP_S = 420

SERVE = ["--enforce-eager", "--dtype", "float32", "--max-model-len", "4096", "--max-num-seqs", "8",
         "--host", "127.0.0.1", "--generation-config", "vllm", "--skip-mm-profiling", "--served-model-name", "nano",
         "--limit-mm-per-prompt", '{"image": 1, "video": 0}']  # fmt: skip


def documents():
    samples = [item for _, item in read_lines(FOLDER) if isinstance(item, Sample)][:SAMPLES]
    return [document(sample, FOLDER) for sample in samples]


def requests():
    settings = {"max_new_tokens": 48, "temperature": 0, "until": []}
    return [
        SimpleNamespace(args=("", messages, settings, number, "live_ocr", "test"), task_name="live_ocr")
        for number in range(SAMPLES)
    ]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    given = os.environ.get("TLIVE_TEST_SERVER")
    if given:
        yield given
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(checkpoint_path("bf16"))]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--port", str(port), *SERVE],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + STARTUP_S
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(errors="replace")[-3000:]
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"no server after {STARTUP_S} s: {log.read_text(errors='replace')[-3000:]}")


def test_answers_are_those_of_the_engine_in_process(server: str) -> None:
    from tliveomni_eval.model_adapters.vllm_backend.adapter import TLiveOmniVLLM

    tasks = {"live_ocr": {"test": documents()}}
    remote = TLiveOmniServer(base_url=server, concurrency=4)
    remote.task_dict = tasks
    served = remote.generate_until(requests())
    local = TLiveOmniVLLM(dtype="float32", max_model_len=4096, max_num_seqs=8)
    local.task_dict = tasks
    try:
        expected = local.generate_until(requests())
    finally:
        local.clean()
    assert [result.text for result in served] == [result.text for result in expected]
    assert len({result.text for result in served}) > 2
    for mine, theirs in zip(served, expected, strict=True):
        assert mine.token_counts.input_tokens == theirs.token_counts.input_tokens


def test_bench_measures_the_server(server: str, tmp_path: Path) -> None:
    words = ["--backend", "server", "--model-args", f"base_url={server}", "--workloads", "text,image,audio",
             "--requests", "2", "--repeats", "1", "--prompt-tokens", "280", "--output-tokens", "8",
             "--concurrency", "2",
             "--rates", "20", "--slo-latency", "1000", "--out", str(tmp_path / "bench.json")]  # fmt: skip
    result = CliRunner().invoke(bench_command.command, words)
    assert result.exit_code == 0, result.output + str(result.exception)
    assert "audio: left out, the checkpoint takes no audio" in result.output
    report = read_bench_report(tmp_path)
    assert [row.name for row in report.workloads] == ["text", "image"]
    for row in report.workloads:
        assert (row.prompt_tokens, row.output_tokens, row.failed) == (280, 8, 0)
        assert 0 < row.ttft_s <= row.seconds_per_sample
        assert row.ttft_parts.encoder_prefill_s is not None
        assert [(step.arrival, step.succeeded) for step in row.steps] == [("closed", 4), ("open", 2)]
        assert all(step.goodput_per_s == pytest.approx(step.requests_per_s) for step in row.steps)


def test_a_cache_miss_is_seen_and_mended_and_a_uuid_in_use_is_not_safe_for_other_content(server: str) -> None:
    result = CliRunner().invoke(bench_command.command, ["cache", "--server", server, "--fill", "2", "--json"])
    assert result.exception is None, result.output
    from tliveomni_eval.model_adapters.serving.cache_check import CacheReport

    report = CacheReport.model_validate_json(result.stdout)
    assert report.safe
    cases = {case.case: case.result for case in report.cases}
    assert cases["a UUID that was never sent (as after a restart)"] == "refused"
    # What a careless client gets: the reason that tliveomni_server sends no UUID at all.
    assert cases["careless: other content under a UUID in use"] == "stale"
