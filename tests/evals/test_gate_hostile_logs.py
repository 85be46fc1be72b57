"""Log folders that must not be believed: each ends with status 3 or 64 and a message that says where the fault is."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_folder_builder import (
    results_content,
    tlive_rows,
    write_lines,
    write_lm_eval_run,
    write_lmms_eval_run,
    write_tlive_run,
)
from tliveomni_eval.evals.cli import main

N = 60


def samples_of(folder: Path) -> Path:
    return next(folder.rglob("*samples_*.jsonl"))


def results_of(folder: Path) -> Path:
    return next(folder.rglob("*results*.json"))


def change_row(folder: Path, line: int, change: Callable[[dict[str, Any]], object]) -> None:
    path = samples_of(folder)
    rows = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    change(rows[line - 1])
    write_lines(path, rows)


def replace_line(folder: Path, line: int, content: bytes) -> None:
    path = samples_of(folder)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line - 1] = content
    path.write_bytes(b"".join(lines))


def truncated(folder: Path) -> None:
    path = samples_of(folder)
    path.write_bytes(path.read_bytes()[:-40])


def lines_lost(folder: Path) -> None:
    path = samples_of(folder)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:50]))


def duplicate_line(folder: Path) -> None:
    path = samples_of(folder)
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[4])


def not_a_number(folder: Path) -> None:
    change_row(folder, 7, lambda row: row["field_exact"].update(num=float("nan")))


def infinite(folder: Path) -> None:
    change_row(folder, 7, lambda row: row["field_exact"].update(den=float("inf")))


def huge_number(folder: Path) -> None:
    change_row(folder, 7, lambda row: row["field_exact"].update(num=10**400))


def negative(folder: Path) -> None:
    change_row(folder, 7, lambda row: row["field_exact"].update(num=-1))


def text_for_a_number(folder: Path) -> None:
    change_row(folder, 7, lambda row: row["field_exact"].update(num="1"))


def metric_of_another_sample(folder: Path) -> None:
    change_row(folder, 7, lambda row: row["field_exact"].update(id="ocr-00001"))


def without_record(folder: Path) -> None:
    change_row(folder, 7, lambda row: row.pop("record"))


def unknown_status(folder: Path) -> None:
    change_row(folder, 7, lambda row: row["record"].update(status="fine"))


def empty_id(folder: Path) -> None:
    change_row(folder, 7, lambda row: row["record"].update(id=""))


def slices_are_a_list(folder: Path) -> None:
    change_row(folder, 7, lambda row: row["record"].update(slices=["lang=zh"]))


def slice_is_an_object(folder: Path) -> None:
    change_row(folder, 7, lambda row: row["record"]["slices"].update(lang={"a": 1}))


def not_json(folder: Path) -> None:
    replace_line(folder, 7, b"Traceback (most recent call last):\n")


def not_utf8(folder: Path) -> None:
    replace_line(folder, 7, '{"doc_id": 6, "target": "价格"}\n'.encode("gb18030"))


def not_an_object(folder: Path) -> None:
    replace_line(folder, 7, b"[1, 2, 3]\n")


def line_of_two_gigabytes(folder: Path) -> None:
    with samples_of(folder).open("r+b") as file:
        file.seek(0, os.SEEK_END)
        file.truncate(file.tell() + 2 * 2**30)


def link_out_of_the_folder(folder: Path) -> None:
    path = samples_of(folder)
    path.rename(folder.parent / "elsewhere.jsonl")
    path.symlink_to(folder.parent / "elsewhere.jsonl")


def folder_in_place_of_the_log(folder: Path) -> None:
    path = samples_of(folder)
    path.unlink()
    path.mkdir()


def empty_log(folder: Path) -> None:
    samples_of(folder).write_text("")


def no_results_file(folder: Path) -> None:
    results_of(folder).unlink()


def crashed_with_status_0(folder: Path) -> None:
    samples_of(folder).unlink()
    results_of(folder).write_text(json.dumps({"results": {}, "configs": {}}))


def results_are_a_list(folder: Path) -> None:
    content = json.loads(results_of(folder).read_text())
    results_of(folder).write_text(json.dumps(content | {"configs": [1]}))


def no_sample_log(folder: Path) -> None:
    samples_of(folder).unlink()


def mixed_harness_versions(folder: Path) -> None:
    path = results_of(folder)
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"lmms_eval_version": "0.7.3"}))
    earlier = path.with_name("20250101_000000_results.json")
    earlier.write_text(json.dumps(content | {"lmms_eval_version": "0.6.0"}))


def two_models(folder: Path) -> None:
    (folder / "other").mkdir()
    for path in (samples_of(folder), results_of(folder)):
        (folder / "other" / path.name).write_bytes(path.read_bytes())


def headline_is_not_logged(folder: Path) -> None:
    content = results_content("live_ocr", N, {"field_exact": True}, headline="exact")
    results_of(folder).write_text(json.dumps(content))


def failed_run(folder: Path) -> None:
    path = folder / "run.json"
    content = json.loads(path.read_text()) | {"exit_status": 137, "error": "out of memory"}
    path.write_text(json.dumps(content))


def killed_run(folder: Path) -> None:
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"exit_status": None, "end": None}))


def run_info_of_the_future(folder: Path) -> None:
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": 2}))


def emptied(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def removed(folder: Path) -> None:
    emptied(folder)
    folder.rmdir()


def extra_samples(folder: Path) -> None:
    write_tlive_run(folder, [True] * (N + 5))


def missing_samples(folder: Path) -> None:
    write_tlive_run(folder, [True] * (N - 5))


def other_ids(folder: Path) -> None:
    path = samples_of(folder)
    path.write_text(path.read_text().replace("ocr-", "OCR-"))


def other_data(folder: Path) -> None:
    change_row(folder, 7, lambda row: row.update(target="¥0.01"))


def other_data_fingerprint(folder: Path) -> None:
    write_tlive_run(folder, [True] * N, run_info={"data": {"live_ocr": "data-2"}})


def other_task(folder: Path) -> None:
    emptied(folder)
    write_tlive_run(folder, [True] * N, task="live_asr")


def other_version(folder: Path) -> None:
    write_tlive_run(folder, [True] * N, results={"versions": {"live_ocr": 2}})


HOSTILE: dict[Callable[[Path], None], str] = {
    truncated: r"samples_live_ocr\.jsonl:60: the last line is cut off",
    lines_lost: r"samples_live_ocr\.jsonl:50: ends after 50 samples where \S+_results\.json counts 60",
    duplicate_line: r"samples_live_ocr\.jsonl:61: sample 'ocr-00004' appears twice \(first on line 5\)",
    not_a_number: r"samples_live_ocr\.jsonl:7: field_exact\.num must be finite, got nan",
    infinite: r"samples_live_ocr\.jsonl:7: field_exact\.den must be finite, got inf",
    huge_number: r"samples_live_ocr\.jsonl:7: field_exact\.num must be finite, got inf",
    negative: r"samples_live_ocr\.jsonl:7: field_exact\.num must be at least 0, got -1",
    text_for_a_number: r"samples_live_ocr\.jsonl:7: field_exact\.num must be a number, got '1'",
    metric_of_another_sample: r"samples_live_ocr\.jsonl:7: metric 'field_exact' belongs to sample 'ocr-00001'",
    without_record: r"samples_live_ocr\.jsonl:7: has no `record`",
    unknown_status: r"samples_live_ocr\.jsonl:7: record\.status must be one of .*, got 'fine'",
    empty_id: r"samples_live_ocr\.jsonl:7: record\.id must be a text that is not empty",
    slices_are_a_list: r"samples_live_ocr\.jsonl:7: record\.slices must be an object",
    slice_is_an_object: r"samples_live_ocr\.jsonl:7: slice 'lang' must be a text",
    not_json: r"samples_live_ocr\.jsonl:7: not JSON: .*Traceback",
    not_utf8: r"samples_live_ocr\.jsonl:7: not UTF-8: byte 0x",
    not_an_object: r"samples_live_ocr\.jsonl:7: must be a JSON object, got list",
    line_of_two_gigabytes: r"samples_live_ocr\.jsonl:61: line is longer than 64 MiB",
    link_out_of_the_folder: r"samples_live_ocr\.jsonl: is a link out of the run folder, to '\S+elsewhere\.jsonl'",
    folder_in_place_of_the_log: r"samples_live_ocr\.jsonl: is not a regular file",
    empty_log: r"samples_live_ocr\.jsonl: no samples: task 'live_ocr' was not evaluated",
    no_results_file: r"samples_live_ocr\.jsonl: sample logs but no results file",
    crashed_with_status_0: r"_results\.json: has no `results`: the run failed, whatever its exit status was",
    results_are_a_list: r"_results\.json: `configs` must be an object",
    no_sample_log: r"w8a8: candidate has no log of this task: no sample log; .* --log_samples",
    mixed_harness_versions: r"_results\.json: mixed harness versions in one folder: '0\.7\.3' here, '0\.6\.0' in",
    two_models: r"w8a8: logs of 2 models in one folder",
    headline_is_not_logged: r"samples_live_ocr\.jsonl:1: headline metric 'exact' of task 'live_ocr' is not in the log",
    failed_run: r"run\.json: exit_status: the run failed with status 137: out of memory",
    killed_run: r"run\.json: exit_status: the run has not ended, or was killed",
    run_info_of_the_future: r"run\.json: schema_version: Input should be 1 \(got '2'\)",
    emptied: r"w8a8: no results of lmms-eval or lm-eval in this folder: nothing was evaluated",
    removed: r"w8a8: does not exist",
    extra_samples: r"5 of 65 samples are in the candidate only, first 'ocr-00060' \(\S+samples_live_ocr\.jsonl:61\)",
    missing_samples: r"5 of 60 samples are in the baseline only, first 'ocr-00055' \(\S+samples_live_ocr\.jsonl:56\)",
    other_ids: r"no sample in common: the runs were made with other prompts \(\S+samples_live_ocr\.jsonl:1 and ",
    other_data: r"data: live_ocr: 1 of 60 samples have another reference in the candidate, .*jsonl:7 against ",
    other_data_fingerprint: r"data\.live_ocr differs: baseline 'data-1', candidate 'data-2'",
    other_task: r"live_ocr: \S+w8a8: candidate has no log of this task: it was not evaluated",
    other_version: r"version: live_ocr: version differs: baseline 1, candidate 2",
}


def run_gate(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: object
) -> tuple[int, str]:
    monkeypatch.setenv("COLUMNS", "2000")
    with pytest.raises(SystemExit) as caught:
        main(["gate", *map(str, arguments)])
    output = "".join(capsys.readouterr())
    assert "Traceback (most recent call last):\n" not in output
    return int(caught.value.code or 0), output


@pytest.mark.parametrize("make_hostile", HOSTILE, ids=lambda make: make.__name__)
def test_hostile_candidate(
    make_hostile: Callable[[Path], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    baseline = write_tlive_run(tmp_path / "bf16", [True] * N)
    candidate = write_tlive_run(tmp_path / "w8a8", [True] * N)
    make_hostile(candidate)
    status, output = run_gate(capsys, monkeypatch, "--baseline", baseline, "--candidate", candidate)
    assert status == 3
    assert re.search(HOSTILE[make_hostile], output), output
    status, output = run_gate(capsys, monkeypatch, "--baseline", candidate, "--candidate", baseline)
    assert status == 3
    assert "∅ MISSING" in output


def test_the_untouched_folder_is_believed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_tlive_run(tmp_path / "bf16", [True] * N)
    assert run_gate(capsys, monkeypatch, "--baseline", run, "--candidate", run)[0] == 2


def test_mixed_harnesses(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    baseline = write_lmms_eval_run(tmp_path / "a", [1] * N, task="gsm8k")
    candidate = write_lm_eval_run(tmp_path / "b", [1.0] * N, task="gsm8k")
    status, output = run_gate(capsys, monkeypatch, "--baseline", baseline, "--candidate", candidate)
    assert status == 3
    assert "harness: gsm8k: format differs: baseline 'lmms-eval', candidate 'lm-eval'" in output


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), r"samples_pope\.jsonl:2: accuracy must be finite, got nan"),
        (-1, r"samples_pope\.jsonl:2: accuracy must be at least 0, got -1"),
        ("yes", r"samples_pope\.jsonl:2: accuracy must be a number, got 'yes'"),
        ([1, 2], r"samples_pope\.jsonl:2: accuracy must be a number, got '\[1, 2\]'"),
    ],
)
def test_hostile_value_of_a_foreign_metric(
    value: object, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline = write_lmms_eval_run(tmp_path / "a", [1] * N)
    candidate = write_lmms_eval_run(tmp_path / "b", [1, value] + [1] * (N - 2))
    status, output = run_gate(capsys, monkeypatch, "--baseline", baseline, "--candidate", candidate)
    assert status == 3
    assert re.search(message, output), output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"doc_id": 0}, r"jsonl:2: sample with doc_id 0 appears twice \(first on line 1\)"),
        ({"doc_id": None}, r"jsonl:2: doc_id must be a number or a text, got 'None'"),
        ({"record": {"id": "x"}}, r"jsonl:2: has a `record`, though earlier lines have none"),
    ],
)
def test_hostile_foreign_line(
    change: dict[str, object],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    baseline = write_lmms_eval_run(tmp_path / "a", [1] * N)
    candidate = write_lmms_eval_run(tmp_path / "b", [1] * N)
    change_row(candidate, 2, lambda row: row.update(change))
    status, output = run_gate(capsys, monkeypatch, "--baseline", baseline, "--candidate", candidate)
    assert status == 3
    assert re.search(message, output), output


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("defaults:\n  budgte: 0.1\n", "policy.yaml:2: defaults: unknown key 'budgte'. Did you mean 'budget'?"),
        ("defaults: [\n", "policy.yaml:2: policy is not YAML"),
        ("tasks: {live_ocr: {slices: {lagn=zh: {}}}}\n", "unknown slice 'lagn=zh'. Did you mean 'lang=zh'?"),
        (
            "waivers: [{task: live_ocr, slice: lang=zh, reason: r, approved_by: me, until: 2020-01-01}]\n",
            "expired on 2020-01-01 (approved by me)",
        ),
    ],
)
def test_hostile_policy(
    policy: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_tlive_run(tmp_path / "bf16", [True] * N)
    path = tmp_path / "policy.yaml"
    path.write_text(policy)
    status, output = run_gate(capsys, monkeypatch, "--baseline", run, "--candidate", run, "--policy", path)
    assert status == 64
    assert message in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--baseline RUN is missing"),
        (["--baseline", "a"], "--candidate RUN is missing"),
        (["--baseline", "a", "--candidate", "b", "--allow", "date"], "unknown field 'date'"),
        (["--baseline", "a", "--candidate", "b", "--polcy", "c"], "No such option"),
        (["--baseline", "a", "--candidate", "b", "--json", "-", "--junit", "-"], "cannot both go to standard output"),
        (["inti", "a"], "unknown subcommand of gate 'inti'. Did you mean 'init'?"),
        (["--baseline", "a", "--candidate", "b", "--json", "no/such/folder.json"], "result cannot be written"),
    ],
)
def test_usage_errors(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    status, output = run_gate(capsys, monkeypatch, *arguments)
    assert status == 64
    assert message in output


def test_control_characters_of_a_log_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "zh\x1b[2J\u202e\n[bold]"
    folder = write_tlive_run(tmp_path / "bf16", [True] * N, langs=["en", hostile])
    status, output = run_gate(capsys, monkeypatch, "--baseline", folder, "--candidate", folder)
    assert status == 2
    assert "\x1b" not in output
    assert "\u202e" not in output
    assert r"lang=zh\x1b[2J\u202e\n[bold]" in output


def test_half_a_surrogate_pair_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_tlive_run(tmp_path / "bf16", [True] * N)
    rows = tlive_rows([True] * N)
    rows[0]["record"]["slices"]["lang"] = "\ud83d"
    samples_of(folder).write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ("--baseline", folder, "--candidate", folder, "--json", "-")
    status, output = run_gate(capsys, monkeypatch, *arguments)
    assert status == 2
    assert "lang=\ufffd" in json.dumps(json.loads(output), ensure_ascii=False)
