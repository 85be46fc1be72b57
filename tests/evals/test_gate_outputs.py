"""What the gate shows: the table, Markdown, JUnit, JSON, the policy template and the schemas."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from run_folder_builder import write_lmms_eval_run, write_tlive_run
from tliveomni_eval.evals.cli import main
from tliveomni_eval.evals.gate.gate import gate
from tliveomni_eval.evals.gate.policy import Policy
from tliveomni_eval.evals.gate.policy_file import read_policy
from tliveomni_eval.evals.gate.printable import markdown_code, markdown_text, printable
from tliveomni_eval.evals.gate.verdict import GateReport

N = 1200


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Path]:
    return {
        "bf16": write_tlive_run(tmp_path / "bf16", [True] * N),
        "again": write_tlive_run(tmp_path / "again", [position != 5 for position in range(N)]),
        "w8a8": write_tlive_run(tmp_path / "w8a8", [position % 61 != 0 for position in range(N)]),
        "w4": write_tlive_run(tmp_path / "w4", [position % 9 != 0 for position in range(N)]),
    }


def tlive(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0), "".join(capsys.readouterr())


class TestTable:
    def test_says_what_matters(self, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
        status, output = tlive(capsys, "gate", "--baseline", runs["bf16"], "--candidate", runs["w4"])
        assert status == 1
        first, header, worst, *_ = output.strip().splitlines()
        assert first == "w4 against bf16 · live_ocr field_exact · budget 1.5 %"
        assert header.split()[0] == "verdict"
        assert "95 % interval" in header
        assert worst.startswith("✘ BREACH")
        assert "200 in" not in worst
        assert "✘ BREACH  w4 must not ship: 5 slices of 5 lost more than the budget" in output
        assert "134 ↓ 0 ↑" in output
        assert "100.0 % → 88.8 %" in output
        assert "Slices overlap: each sample lies in 2.0" in output

    def test_pass(self, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
        status, output = tlive(capsys, "gate", "--baseline", runs["bf16"], "--candidate", runs["bf16"])
        assert status == 0
        assert "✔ PASS  bf16 stays inside the budget on every slice that counts" in output

    def test_undecided_says_how_many_more(self, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
        status, output = tlive(capsys, "gate", "--baseline", runs["bf16"], "--candidate", runs["w8a8"])
        assert status == 2
        assert "? INCONCLUSIVE  The samples cannot tell whether w8a8 stays inside the budget" in output
        assert "more clusters in live_ocr" in " ".join(output.split())

    def test_several_candidates_and_noise(self, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
        arguments = ["gate", "--baseline", runs["bf16"], "--noise", runs["again"]]
        status, output = tlive(capsys, *arguments, "--candidate", runs["bf16"], "--candidate", runs["w4"])
        assert status == 1
        assert "w4 against bf16 · live_ocr field_exact · budget 1.5 % · noise from again" in output
        assert "flip rate | A/A" in output
        assert "11.2 % | 0.1 %" in output
        assert output.count("✔ PASS  bf16 stays") == output.count("✘ BREACH  w4 must not ship") == 1

    def test_columns_that_differ_between_slices_are_shown(
        self, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "policy.yaml"
        rules: dict[str, Any] = {
            "metrics": ["field_exact", "cer"],
            "min_clusters": 650,
            "slices": {"all": {"budget": 0.002, "loss": "absolute"}},
        }
        path.write_text(json.dumps({"tasks": {"live_ocr": rules}}))
        arguments = ["gate", "--baseline", runs["bf16"], "--candidate", runs["w4"], "--policy", path]
        output = tlive(capsys, *arguments)[1]
        assert "w4 against bf16\n" in output
        assert "0.2 % points" in output
        assert "metric" in output
        assert "BREACH (not gated)" in output

    def test_clusters_are_shown_where_they_are_fewer(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run = write_tlive_run(tmp_path / "a", [True] * 600, cluster_size=4)
        output = tlive(capsys, "gate", "--baseline", run, "--candidate", run)[1]
        assert "600 in 150" in output

    def test_long_tables_are_cut(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run = write_tlive_run(tmp_path / "a", [True] * N, langs=[f"l{number}" for number in range(60)])
        arguments = ["gate", "--baseline", run, "--candidate", run]
        output = tlive(capsys, *arguments)[1]
        assert "23 more slices" in output
        assert "more slices" not in tlive(capsys, *arguments, "--all")[1]

    def test_narrow_terminal(
        self, runs: dict[str, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        output = tlive(capsys, "gate", "--baseline", runs["bf16"], "--candidate", runs["w4"])[1]
        assert "baseline → candidate" not in output
        assert max(len(line) for line in output.splitlines()) <= 80

    def test_allowed_difference_is_shown(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        baseline = write_tlive_run(tmp_path / "a", [True] * N)
        candidate = write_tlive_run(tmp_path / "b", [True] * N, run_info={"parsers": {"price": "2"}})
        arguments = ["gate", "--baseline", baseline, "--candidate", candidate, "--allow", "parsers"]
        status, output = tlive(capsys, *arguments)
        assert status == 0
        assert "allowed parsers: parsers.price differs: baseline '1', candidate '2'" in output

    def test_help(self, capsys: pytest.CaptureFixture[str]) -> None:
        status, output = tlive(capsys, "gate", "--help")
        assert status == 0
        assert "Exit status: 0 PASS, 1 BREACH, 2 INCONCLUSIVE, 3 MISSING or not comparable, 64 usage error." in output


class TestJson:
    def test_round_trip(self, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
        arguments = ["gate", "--baseline", runs["bf16"], "--candidate", runs["w4"], "--json", "-"]
        status, output = tlive(capsys, *arguments)
        report = GateReport.model_validate_json(output)
        assert (status, report.outcome) == (1, "BREACH")
        assert report.verdicts[0] == gate(runs["bf16"], runs["w4"])

    def test_missing_run_is_reported_too(self, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
        arguments = ["gate", "--baseline", runs["bf16"], "--candidate", "none", "--json", "-"]
        status, output = tlive(capsys, *arguments)
        assert status == 3
        assert json.loads(output)["verdicts"][0]["problems"][0]["field"] == "log"

    def test_schemas(self, capsys: pytest.CaptureFixture[str]) -> None:
        policy = json.loads(tlive(capsys, "gate", "schema")[1])
        assert policy["properties"]["defaults"]
        assert policy["$schema"].startswith("https://json-schema.org/")
        result = json.loads(tlive(capsys, "gate", "schema", "--result")[1])
        assert set(result["properties"]) == {"schema_version", "outcome", "exit_status", "verdicts"}


class TestJunit:
    def test_counts(self, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "gate.xml"
        arguments = ["gate", "--baseline", runs["bf16"], "--candidate", runs["w4"], "--candidate", "none"]
        tlive(capsys, *arguments, "--junit", path)
        broken, absent = ET.parse(path).getroot()
        assert broken.attrib["name"] == "w4 against bf16"
        assert (broken.attrib["tests"], broken.attrib["failures"], broken.attrib["errors"]) == ("6", "6", "0")
        assert (absent.attrib["tests"], absent.attrib["errors"]) == ("2", "2")

    def test_what_does_not_block_is_skipped(
        self, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        policy, path = tmp_path / "p.yaml", tmp_path / "gate.xml"
        policy.write_text(
            json.dumps({"defaults": {"tier": "warning"}, "tasks": {"live_ocr": {"required_slices": ["a=b"]}}})
        )
        arguments = ["gate", "--baseline", runs["bf16"], "--candidate", runs["w4"], "--policy", policy]
        tlive(capsys, *arguments, "--junit", path)
        (suite,) = ET.parse(path).getroot()
        assert (suite.attrib["skipped"], suite.attrib["errors"], suite.attrib["failures"]) == ("5", "2", "0")
        assert "✘ BREACH (warning)" in path.read_text(encoding="utf-8")

    def test_allowed_difference_is_skipped(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        baseline = write_tlive_run(tmp_path / "a", [True] * N)
        candidate = write_tlive_run(tmp_path / "b", [True] * N, run_info={"parsers": {"price": "2"}})
        arguments = ["gate", "--baseline", baseline, "--candidate", candidate, "--allow", "parsers", "--junit", "-"]
        status, output = tlive(capsys, *arguments)
        assert status == 0
        (suite,) = ET.fromstring(output)
        assert suite.attrib["skipped"] == "1"


class TestMarkdown:
    def test_names_cannot_leave_their_cell(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        hostile = "| </code><script>alert(1)</script> @everyone `x` \n# head ![i](http://e) ]]>"
        run = write_tlive_run(tmp_path / "bf16", [True] * N, langs=["en", hostile])
        output = tlive(capsys, "gate", "--baseline", run, "--candidate", run, "--markdown", "-")[1]
        assert "<script" not in output
        assert "![i]" not in output
        rows = [line for line in output.splitlines() if line.startswith("| :")]
        assert len(rows) == 5
        assert {row.replace("\\|", "").count("|") for row in rows} == {rows[0].count("|")}

    def test_needs_attention_first(self, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
        arguments = ["gate", "--baseline", runs["bf16"], "--candidate", runs["w4"], "--markdown", "-"]
        output = tlive(capsys, *arguments)[1]
        assert output.startswith("### :x: BREACH: <code>w4</code> against <code>bf16</code>")
        assert "| :x: BREACH | <code>live&#95;ocr</code> | <code>all</code> |" in output

    def test_passed_slices_are_folded(self, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
        arguments = ["gate", "--baseline", runs["bf16"], "--candidate", runs["bf16"], "--noise", runs["again"]]
        output = tlive(capsys, *arguments, "--markdown", "-")[1]
        assert "<details><summary>5 other slices</summary>" in output
        assert "flip rate \\| A/A" in output

    def test_problems_and_waivers(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        baseline = write_tlive_run(tmp_path / "a", [True] * N)
        candidate = write_tlive_run(tmp_path / "b", [position % 10 != 0 for position in range(N)])
        policy = tmp_path / "p.yaml"
        waiver = {"task": "live_ocr", "slice": "all", "reason": "r|r", "approved_by": "me", "until": "9999-01-01"}
        policy.write_text(json.dumps({"waivers": [waiver]}))
        arguments = ["gate", "--baseline", baseline, "--candidate", candidate, "--policy", policy, "--markdown", "-"]
        output = tlive(capsys, *arguments)[1]
        assert "BREACH (waived)" in output
        assert "waived until 9999&#45;01&#45;01 by me&#58; r&#124;r" in output
        output = tlive(capsys, "gate", "--baseline", baseline, "--candidate", "none", "--markdown", "-")[1]
        assert "- **log** <code>candidate&#58; none&#58; does not exist</code>" in output

    def test_step_summary_of_github_is_appended_to(
        self, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        summary, markdown = tmp_path / "summary.md", tmp_path / "gate.md"
        summary.write_text("before\n")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        arguments = ["gate", "--baseline", runs["bf16"], "--candidate", runs["bf16"], "--markdown", markdown]
        tlive(capsys, *arguments)
        assert summary.read_text().startswith("before\n### :white_check_mark: PASS")
        assert markdown.read_text().startswith("### :white_check_mark: PASS")

    def test_many_slices_are_cut(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run = write_tlive_run(tmp_path / "a", [True] * N, langs=[f"l{number}" for number in range(150)])
        output = tlive(capsys, "gate", "--baseline", run, "--candidate", run, "--markdown", "-")[1]
        assert "more slices are in the JSON result" in output


class TestPrintable:
    @given(st.text())
    def test_is_one_safe_line(self, text: str) -> None:
        shown = printable(text)
        assert len(shown.splitlines()) <= 1
        assert all(character.isprintable() or character in "\u3000\xa0" or character.isspace() for character in shown)
        shown.encode("utf-8")

    @given(st.text(alphabet="`*_[]()<>|!#@&;\\~$: ab\n"))
    def test_markdown_has_no_markup_of_the_text(self, text: str) -> None:
        inside = markdown_code(text).removeprefix("<code>").removesuffix("</code>")
        assert not set(inside) & set("`*_[]()<>|!\\~$:\n")
        assert not set(markdown_text(text)) & set("`*_[]()<>|!\\~$:\n")


class TestInit:
    def test_template_is_a_policy_that_its_run_satisfies(
        self, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "policy.yaml"
        status, output = tlive(capsys, "gate", "init", runs["bf16"], "-o", path)
        assert status == 0
        assert f"wrote {path}" in output
        policy = read_policy(path)
        assert policy.rule("live_ocr", "lang=zh").required
        assert policy.rule("live_ocr", "lang=zh").budget == Policy().rule("live_ocr", "lang=zh").budget
        verdict = gate(runs["bf16"], runs["bf16"], policy)
        assert verdict.outcome == "PASS"
        assert "further metrics that can be gated: cer" in path.read_text(encoding="utf-8")

    def test_says_which_slices_are_too_small(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run = write_tlive_run(tmp_path / "a", [True] * 240, langs=["zh", "en: \x1b[0m"])
        output = tlive(capsys, "gate", "init", run)[1]
        assert "120 clusters: too few to PASS, which takes" in output
        assert "\x1b" not in output
        required = yaml.safe_load(output)["tasks"]["live_ocr"]["required_slices"]
        assert "lang=en: \x1b[0m" in required

    def test_foreign_run(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        output = tlive(capsys, "gate", "init", write_lmms_eval_run(tmp_path / "out", [1] * 60))[1]
        assert yaml.safe_load(output)["tasks"]["pope"]["metrics"] == ["accuracy"]

    def test_refusals(self, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "policy.yaml"
        path.write_text("mine")
        assert tlive(capsys, "gate", "init", runs["bf16"], "-o", path)[0] == 64
        assert path.read_text() == "mine"
        assert tlive(capsys, "gate", "init", runs["bf16"], "-o", path, "--force")[0] == 0
        status, output = tlive(capsys, "gate", "init", tmp_path / "none")
        assert status == 3
        assert "none: does not exist" in output


def test_starts_without_what_it_does_not_need(runs: dict[str, Path]) -> None:
    script = (
        "import sys\n"
        "from tliveomni_eval.evals.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'pandas', 'scipy', 'torch', 'lmms_eval', 'yaml', 'pycocotools'} & set(sys.modules)))\n"
    )
    arguments = ["gate", "--baseline", str(runs["bf16"]), "--candidate", str(runs["w4"])]
    output = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    ).stdout
    assert output.splitlines()[-1] == "[]"
