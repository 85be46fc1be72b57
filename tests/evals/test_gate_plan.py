"""`tlive gate plan`: how many clusters a verdict takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from run_folder_builder import write_tlive_run
from tliveomni_eval.evals.cli import main
from tliveomni_eval.evals.gate.gate import gate
from tliveomni_eval.evals.gate.policy import Policy, Rule
from tliveomni_eval.evals.gate.run_plan import Supposition, plan_quality, plan_slices
from tliveomni_eval.evals.logs.run_folder import read_run

LANGS = ["zh"] * 9 + ["ja"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tlive_run(tmp_path / "bf16", [position % 20 != 0 for position in range(2000)], langs=LANGS)


def tlive(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0), "".join(capsys.readouterr())


class TestPlan:
    def test_what_lacks_most_comes_first(self, folder: Path) -> None:
        planned = plan_slices(read_run(folder), Policy(), Supposition())
        assert planned[0].plan.slice == "lang=ja"
        assert planned[0].plan.present_clusters == 200
        missing = [item.plan.missing_clusters or 0 for item in planned]
        assert missing == sorted(missing, reverse=True)
        assert missing[-1] == 0

    def test_a_slice_that_could_pass_is_the_one_that_the_gate_lets_pass(self, folder: Path) -> None:
        run = read_run(folder)
        planned = {item.plan.slice: item.plan for item in plan_slices(run, Policy(), Supposition(flip_rate=0.0))}
        for item in gate(run, run).slices:
            plan = planned[item.slice]
            assert plan.minimum_clusters is not None
            assert (item.outcome == "PASS") == (item.clusters >= plan.minimum_clusters)

    def test_policy_sets_the_budget(self, folder: Path) -> None:
        rules = {"tasks": {"live_ocr": {"slices": {"lang=ja": {"budget": 0.1}}, "metrics": ["field_exact", "cer"]}}}
        planned = plan_slices(read_run(folder), Policy.model_validate(rules), Supposition())
        needed = {(item.plan.slice, item.metric): item.plan.needed_clusters or 0 for item in planned}
        assert needed["lang=ja", "field_exact"] < needed["lang=zh", "field_exact"]
        assert ("all", "cer") in needed

    def test_more_flips_and_a_loss_need_more(self) -> None:
        def needed(**supposed: float) -> int:
            return plan_quality(0.95, Rule(), Supposition(**supposed)).plan.needed_clusters or 0

        assert needed(flip_rate=0.01) < needed(flip_rate=0.05) < needed(flip_rate=0.05, loss=0.005)
        assert needed(power=0.8) < needed(power=0.95)


class TestCommand:
    def test_table(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        status, output = tlive(capsys, "gate", "plan", folder)
        assert status == 0
        assert "live_ocr lang=ja needs" in output.splitlines()[-1]
        assert "enough" in output

    def test_every_slice_is_large_enough(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        policy = folder / "policy.yaml"
        policy.write_text(json.dumps({"defaults": {"budget": 0.3}}))
        status, output = tlive(capsys, "gate", "plan", folder, "--policy", policy)
        assert status == 0
        assert output.splitlines()[-1] == "Every slice is large enough."

    def test_rates(self, capsys: pytest.CaptureFixture[str]) -> None:
        status, output = tlive(capsys, "gate", "plan", "--quality", "0.95")
        assert status == 0
        assert "clusters in every slice would decide" in output

    def test_loss_on_the_budget(self, capsys: pytest.CaptureFixture[str]) -> None:
        output = tlive(capsys, "gate", "plan", "--quality", "0.95", "--loss", "0.015")[1]
        assert "cannot be decided by any reasonable number" in output

    def test_json(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (first, *_) = json.loads(tlive(capsys, "gate", "plan", folder, "--json")[1])
        assert first["slice"] == "lang=ja"
        assert first["missing_clusters"] == first["needed_clusters"] - first["present_clusters"]
        assert first["rule"]["budget"] == 0.015

    @pytest.mark.parametrize(
        ("arguments", "status", "message"),
        [
            ([], 64, "give either a RUN of the baseline or --quality"),
            (["run", "--quality", "0.9"], 64, "give either a RUN of the baseline or --quality"),
            (["--quality", "2"], 64, "quality must be between 0 and 1, got 2"),
            (["--quality", "0.9", "--power", "0.1"], 64, "power must be above 0.5"),
            (["--quality", "0.9", "--loss", "0.1", "--flip-rate", "0.01"], 64, "is impossible"),
            (["none"], 3, "none: does not exist"),
            (["--quality", "0.9", "--policy", "none.yaml"], 64, "policy cannot be read"),
        ],
    )
    def test_refusals(
        self, arguments: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        found, output = tlive(capsys, "gate", "plan", *arguments)
        assert found == status
        assert message in output
