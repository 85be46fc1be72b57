"""A run whose canaries failed, that gave samples up, or that tokenizes in another way is no ground for a verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from run_folder_builder import write_lmms_eval_run, write_tlive_run
from tliveomni_eval.evals.cli import main
from tliveomni_eval.evals.gate.gate import gate

FAILED = {"name": "modality-image", "status": "fail", "summary": "4 of 4 answers stayed the same with another image"}
PASSED = {"name": "prompt-fidelity", "status": "pass", "summary": "fine"}
INPUT = {"chat_template": "a" * 64, "tokenizer": "b" * 64, "image_processor": "c" * 64}


def runs(folder: Path, baseline: dict[str, Any], candidate: dict[str, Any]) -> tuple[Path, Path]:
    rows = [True] * 40
    return (
        write_tlive_run(folder / "bf16", rows, run_info=baseline),
        write_tlive_run(folder / "w8a8", rows, run_info=candidate),
    )


def status_of(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["gate", *words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize("role", ["baseline", "candidate"])
def test_a_failed_canary_of_either_run_refuses_the_comparison(tmp_path: Path, role: str) -> None:
    sides: dict[str, dict[str, Any]] = {"baseline": {"canaries": [PASSED]}, "candidate": {"canaries": [PASSED]}}
    sides[role] = {"canaries": [PASSED, FAILED]}
    verdict = gate(*runs(tmp_path, sides["baseline"], sides["candidate"]))
    assert (verdict.outcome, verdict.exit_status) == ("MISSING", 3)
    (problem,) = verdict.problems
    assert problem.field == "canary:modality-image"
    assert role in problem.message and "4 of 4 answers" in problem.message
    assert "--allow canary:NAME" in verdict.summary


def test_a_waived_canary_is_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    baseline, candidate = runs(tmp_path, {}, {"canaries": [FAILED]})
    words = ["--baseline", str(baseline), "--candidate", str(candidate)]
    assert status_of(*words) == 3
    assert "modality-image" in capsys.readouterr().out
    assert status_of(*words, "--allow", "canary:modality-image", "--json", "-") in (0, 2)
    (problem,) = json.loads(capsys.readouterr().out)["verdicts"][0]["problems"]
    assert (problem["field"], problem["allowed"]) == ("canary:modality-image", True)
    assert status_of(*words, "--allow", "canary:batch-invariance") == 3
    assert status_of(*words, "--allow", "canary:modality-imag") == 64
    assert "Did you mean 'canary:modality-image'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("part", "field"), [("chat_template", "template"), ("tokenizer", "tokenizer"), ("image_processor", "processor")]
)
def test_another_template_tokenizer_or_processor_is_named(tmp_path: Path, part: str, field: str) -> None:
    pair = runs(tmp_path, {"input_processing": INPUT}, {"input_processing": INPUT | {part: "d" * 64}})
    verdict = gate(*pair)
    assert (verdict.exit_status, [problem.field for problem in verdict.problems]) == (3, [field])
    assert f"input_processing.{part} differs: baseline" in verdict.problems[0].message
    assert gate(*pair, allow=[field]).exit_status in (0, 2)


def test_a_run_that_does_not_note_its_tokenizer_is_compared_all_the_same(tmp_path: Path) -> None:
    assert gate(*runs(tmp_path, {"input_processing": INPUT}, {})).problems == []


def test_a_sample_that_was_given_up_is_an_error_that_is_named(tmp_path: Path) -> None:
    given_up = [{"task": "live_ocr", "document": 3, "reason": "its process was ended by signal 9"}]
    rows = [True] * 40
    task = "live_ocr"
    baseline = write_tlive_run(tmp_path / "bf16", rows)
    logged = write_tlive_run(tmp_path / "w8a8", rows, statuses={3: "error"}, run_info={"quarantined": given_up})
    assert [problem.field for problem in gate(baseline, logged).problems] == ["errors"]
    # A task of others cannot log an error; what run.json says must then be enough.
    silent = write_tlive_run(tmp_path / "w4a16", rows, run_info={"quarantined": given_up})
    (problem,) = gate(baseline, silent).problems
    assert (problem.field, problem.task) == ("quarantined", task)
    assert "document 3 (its process was ended by signal 9)" in problem.message


def test_logs_without_run_json_have_nothing_to_say(tmp_path: Path) -> None:
    pair = [write_lmms_eval_run(tmp_path / name, [1.0] * 20) for name in ("a", "b")]
    assert gate(*pair).problems == []
