"""Real vLLM on the CPU, the embedded checkpoint and real images: from the command a user types to the gate."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tliveomni_eval.evals.logs.run_info import read_run_info
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA

BIN = Path(sys.executable).parent
SAMPLES = 12
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}


def call(*words: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / words[0], *words[1:]],
        cwd=cwd,
        env=os.environ | OFFLINE | environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=570,
        check=False,
    )


def sample_lines(run_folder: Path) -> list[dict[str, Any]]:
    (path,) = run_folder.rglob("*_samples_live_ocr.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    finished = call("tlive", "run", "--variants", "bf16,w8a8", "--limit", str(SAMPLES), "--out", folder, cwd=folder)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return folder


def test_logs_follow_the_record_contract(runs: Path) -> None:
    lines = sample_lines(runs / "bf16")
    assert len(lines) == SAMPLES
    for line in lines:
        record = line["record"]
        assert record["status"] in ("ok", "unparsed", "empty", "truncated")
        assert set(record["slices"]) == {"lang", "text_px", "field", "quality", "lines"}
        assert record["id"] == line["field_exact"]["id"]
        assert line["field_exact"]["den"] == 1
        assert line["token_counts"][0]["input_tokens"] > 60
        assert line["token_counts"][0]["output_tokens"] > 0


def test_the_embedded_checkpoint_reads(runs: Path) -> None:
    similarity = [line["edit_similarity"]["num"] for line in sample_lines(runs / "bf16")]
    assert sum(similarity) / len(similarity) > 0.5


def test_the_quantized_variant_ran_on_its_quantized_kernel(runs: Path) -> None:
    assert read_run_info(runs / "bf16" / "run.json").kernels == []
    (kernel,) = read_run_info(runs / "w8a8" / "run.json").kernels
    assert kernel.startswith("CPUInt8ScaledMMLinearKernel")


def test_run_json_says_what_determined_the_run(runs: Path) -> None:
    bf16, w8a8 = (read_run_info(runs / name / "run.json") for name in ("bf16", "w8a8"))
    assert bf16.exit_status == w8a8.exit_status == 0
    assert bf16.checkpoint.fingerprint != w8a8.checkpoint.fingerprint
    assert bf16.data == w8a8.data
    assert bf16.prompts == w8a8.prompts
    assert len(bf16.prompts["live_ocr"]) == 64
    assert bf16.decoding["live_ocr"]["temperature"] == 0
    assert bf16.limit == SAMPLES


def test_canaries_are_silent_on_a_sound_run(runs: Path) -> None:
    for variant in ("bf16", "w8a8"):
        info = read_run_info(runs / variant / "run.json")
        assert {result.name: result.status for result in info.canaries} == {
            "modality-image": "pass",
            "modality-audio": "not_applicable",
            "modality-video": "not_applicable",
            "batch-invariance": "pass",
            "prompt-fidelity": "pass",
            "generation-config": "pass",
        }
        assert "those of image too" in next(one.summary for one in info.canaries if one.name == "prompt-fidelity")
    bf16, w8a8 = (read_run_info(runs / name / "run.json") for name in ("bf16", "w8a8"))
    assert bf16.input_processing == w8a8.input_processing
    assert {"chat_template", "tokenizer", "image_processor"} <= bf16.input_processing.keys()


def test_a_second_run_takes_every_answer_from_the_journal(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "bf16", tmp_path / "bf16")
    words = ["tlive", "run", "--variants", "bf16", "--limit", str(SAMPLES), "--out", tmp_path, "--json"]
    finished = call(*words, cwd=tmp_path)
    scored = json.loads(finished.stdout)[0]["scored"]
    assert (scored["answered"], scored["from_journal"]) == (0, SAMPLES)
    first, second = (read_run_info(folder / "bf16" / "run.json") for folder in (runs, tmp_path))
    assert second.canaries == first.canaries != []
    assert [line["filtered_resps"] for line in sample_lines(tmp_path / "bf16")] == [
        line["filtered_resps"] for line in sample_lines(runs / "bf16")
    ]


def test_the_gate_takes_the_runs_and_a_run_against_itself_loses_nothing(runs: Path) -> None:
    against_itself = call(
        "tlive", "gate", "--baseline", runs / "bf16", "--candidate", runs / "bf16", "--json", "-", cwd=runs
    )
    assert against_itself.returncode in (0, 2), against_itself.stderr
    both = call("tlive", "gate", "--baseline", runs / "bf16", "--candidate", runs / "w8a8", cwd=runs)
    assert both.returncode in (0, 1, 2), both.stderr
    empty = runs / "empty"
    empty.mkdir(exist_ok=True)
    assert call("tlive", "gate", "--baseline", runs / "bf16", "--candidate", empty, cwd=runs).returncode == 3


def test_lmms_eval_as_typed_from_any_folder(tmp_path: Path) -> None:
    words = ["lmms-eval", "--model", "tliveomni_vllm", "--tasks", "live_ocr", "--limit", "4"]
    finished = call(*words, "--log_samples", "--output_path", "out", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert "field_exact" in finished.stdout
    assert "edit_similarity" in finished.stdout
    assert len(sample_lines(tmp_path / "out")) == 4
    gated = call("tlive", "gate", "--baseline", "out", "--candidate", "out", cwd=tmp_path)
    assert gated.returncode in (0, 2), gated.stdout + gated.stderr


def small_data(folder: Path, count: int) -> Path:
    lines = (EMBEDDED_DATA / "live_ocr" / "manifest.jsonl").read_text(encoding="utf-8").splitlines()[:count]
    folder.mkdir()
    (folder / "manifest.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for line in lines:
        for media in json.loads(line)["media"]:
            target = folder / media["path"]
            target.parent.mkdir(exist_ok=True)
            shutil.copy(EMBEDDED_DATA / "live_ocr" / media["path"], target)
    return folder


def test_a_truncated_image_ends_the_run_with_its_name_and_keeps_what_was_answered(tmp_path: Path) -> None:
    data = small_data(tmp_path / "data", 6)
    last = data / json.loads((data / "manifest.jsonl").read_text().splitlines()[-1])["media"][0]["path"]
    whole = last.read_bytes()
    last.write_bytes(whole[: len(whole) // 3])
    words = ["tlive", "run", "--variants", "bf16", "--out", tmp_path / "runs", "--model-args", "max_num_seqs=1"]
    broken = call(*words, cwd=tmp_path, TLIVE_DATA=str(data))
    assert broken.returncode == 1
    assert last.name in broken.stderr
    assert "Traceback" not in broken.stderr
    last.write_bytes(whole)
    mended = call(*words, "--json", cwd=tmp_path, TLIVE_DATA=str(data))
    assert mended.returncode == 0, mended.stderr
    scored = json.loads(mended.stdout)[0]["scored"]
    assert scored["from_journal"] >= 1
    assert scored["from_journal"] + scored["answered"] == 6


def test_a_checkpoint_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    finished = call("tlive", "run", "--checkpoint", "bf16=./gone", "--out", tmp_path / "runs", cwd=tmp_path)
    assert finished.returncode == 1
    assert "'./gone': there is no such checkpoint folder" in finished.stderr


def test_an_unknown_task_names_the_nearest(tmp_path: Path) -> None:
    finished = call("tlive", "run", "--tasks", "live_orc", "--out", tmp_path / "runs", cwd=tmp_path)
    assert finished.returncode == 1
    assert "unknown task 'live_orc'; did you mean 'live_ocr'?" in finished.stderr
