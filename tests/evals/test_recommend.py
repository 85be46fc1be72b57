"""`tlive recommend`: the article's table, refusals, and measurements before rooflines."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner
from tliveomni_eval.evals.gate.verdict import GateReport, RunSummary, Verdict
from tliveomni_eval.evals.recommend import KNOWN_HARDWARE, Hardware, Need, advise
from tliveomni_eval.evals.recommend_command import command
from tliveomni_eval.evals.serving_figures import BenchReport, Workload

NEED = Need(parameters_b=7.0, sixteen_bit_b=1.8, kv_gb=4.0)
ALL_PASS = {"w8a8": "PASS", "w4a16": "PASS", "fp8": "PASS"}


def bench(variant, seconds):
    now = datetime.now(UTC)
    rows = [Workload(name=name, modality="image", seconds_per_sample=value) for name, value in seconds.items()]
    return BenchReport(name=variant, backend="vllm", variant=variant, model="m", timeout_s=9.0, start=now, end=now,
                       workloads=rows)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "variant"),
    [("h200", "fp8"), ("h100", "fp8"), ("a100", "w8a8"), ("l40s", "w4a16"), ("rtx4090", "w4a16"), ("l4", "w4a16")],
)
def test_without_measurements_the_table_is_that_of_the_article(name, variant):
    advice = advise(KNOWN_HARDWARE[name], NEED, ALL_PASS)
    assert (advice.variant, advice.by) == (variant, "roofline")
    assert advice.reason.startswith(f"{variant}: by roofline")


def test_a_variant_that_breaches_is_refused_however_fast_it_is():
    fast = [bench("fp8", {"image": 0.1}), bench("w8a8", {"image": 0.3}), bench("bf16", {"image": 1.0})]
    advice = advise(KNOWN_HARDWARE["h200"], NEED, {"fp8": "BREACH", "w8a8": "PASS"}, fast)
    assert (advice.variant, advice.by) == ("w8a8", "measured")
    assert "fp8 (the gate says BREACH)" in advice.reason
    assert advise(KNOWN_HARDWARE["h200"], NEED, {"fp8": "BREACH"}).variant == "bf16"


def test_what_the_samples_could_not_decide_needs_consent():
    verdicts = {"fp8": "INCONCLUSIVE"}
    assert advise(KNOWN_HARDWARE["h200"], NEED, verdicts).variant == "bf16"
    willing = Need(7.0, 1.8, 4.0, accept_inconclusive=True)
    assert advise(KNOWN_HARDWARE["h200"], willing, verdicts).variant == "fp8"


def test_what_is_measured_goes_before_what_is_expected():
    measured = [bench("bf16", {"image": 1.0, "x": 0.1}), bench("fp8", {"image": 0.6}), bench("w4a16", {"image": 0.5})]
    advice = advise(KNOWN_HARDWARE["h200"], NEED, {"fp8": "PASS", "w4a16": "PASS"}, measured)
    assert (advice.variant, advice.by) == ("w4a16", "measured")
    assert [item.seconds_per_sample for item in advice.variants] == [0.5, 0.6, 1.0]
    assert advise(KNOWN_HARDWARE["h200"], NEED, ALL_PASS, measured).by == "roofline"
    slow = Need(7.0, 1.8, 4.0, most_seconds=0.4)
    assert advise(KNOWN_HARDWARE["h200"], slow, {"fp8": "PASS", "w4a16": "PASS"}, measured).variant is None


def test_memory_and_format_are_looked_at():
    small = Hardware("small", "ampere", 12.0, 300.0)
    advice = advise(small, Need(7.0, 1.0, 3.0), ALL_PASS)
    fits = {item.variant: item.fit for item in advice.variants}
    assert fits == {"bf16": "memory", "w8a8": "memory", "fp8": "format", "w4a16": "yes"}
    nothing = advise(Hardware("tiny", "ada", 4.0, 300.0), NEED, ALL_PASS)
    assert nothing.variant is None
    assert nothing.reason.startswith("No variant fits")


def test_the_least_time_a_token_is_bytes_over_bandwidth():
    advice = advise(Hardware("x", "hopper", 100.0, 1_000.0), Need(7.0, 1.0, 0.0), {"w8a8": "PASS"})
    floors = {item.variant: item.decode_floor_ms for item in advice.variants}
    assert floors == {"w8a8": pytest.approx(9.0), "bf16": pytest.approx(16.0)}


def gate_file(path, baseline="bf16", **outcomes):
    def run(name):
        return RunSummary(path=name, name=name, variant=name)

    verdicts = [Verdict(outcome=outcome, exit_status=0, summary="", baseline=run(baseline), candidate=run(name))
                for name, outcome in outcomes.items()]  # fmt: skip
    path.write_text(GateReport.of(verdicts).model_dump_json())
    return str(path)


def test_the_command_reads_gate_and_bench_and_ends_with_1_where_nothing_fits(tmp_path):
    gate = gate_file(tmp_path / "gate.json", fp8="PASS", w4a16="BREACH")
    bench("bf16", {"image": 1.0}).write(tmp_path / "a.json")
    bench("fp8", {"image": 0.5}).write(tmp_path / "b.json")
    words = [
        "--hardware",
        "h100",
        "--gate",
        gate,
        "--bench",
        str(tmp_path / "a.json"),
        "--bench",
        str(tmp_path / "b.json"),
    ]
    result = CliRunner().invoke(command, [*words, "--json"], standalone_mode=False)
    assert json.loads(result.output)["variant"] == "fp8"
    assert result.return_value == 0
    assert "the fastest that fits, 0.50 s" in CliRunner().invoke(command, words, standalone_mode=False).output
    none = CliRunner().invoke(command, [*words, "--max-seconds", "0.1"], standalone_mode=False)
    assert none.return_value == 1


def test_the_command_says_what_is_wrong(tmp_path):
    gate = gate_file(tmp_path / "gate.json", fp8="PASS")
    other = gate_file(tmp_path / "other.json", baseline="fp16", fp8="PASS")
    runner = CliRunner()
    assert "share one baseline" in str(
        runner.invoke(command, ["--hardware", "h100", "--gate", gate, "--gate", other], standalone_mode=False).exception
    )
    assert "Did you mean 'h100'" in runner.invoke(command, ["--hardware", "h101", "--gate", gate]).output
    assert "all of --architecture" in runner.invoke(command, ["--memory-gb", "24", "--gate", gate]).output
    (tmp_path / "no.json").write_text("[]")
    failed = runner.invoke(command, ["--hardware", "h100", "--gate", str(tmp_path / "no.json")], standalone_mode=False)
    assert "tlive gate --json" in str(failed.exception)
