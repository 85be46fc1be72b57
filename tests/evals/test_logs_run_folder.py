"""`read_run` on the three formats, and what it refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_folder_builder import (
    DATE,
    results_content,
    tlive_rows,
    write_lines,
    write_lm_eval_run,
    write_lmms_eval_run,
    write_tlive_run,
)
from tliveomni_eval.evals.logs.checkpoint_fingerprint import fingerprint_checkpoint
from tliveomni_eval.evals.logs.json_lines import read_json_file, read_json_lines
from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.run_folder import read_run
from tliveomni_eval.evals.logs.run_info import RunInfo, read_run_info


def samples_file(folder: Path) -> Path:
    return next(folder.rglob("*samples_*.jsonl"))


def results_file(folder: Path) -> Path:
    return next(folder.rglob("*results*.json"))


class TestOurRuns:
    def test_columns(self, tmp_path: Path) -> None:
        run = read_run(write_tlive_run(tmp_path / "bf16", [1, 0, 1, 1], cluster_size=2, statuses={1: "unparsed"}))
        assert run.name == "bf16"
        assert run.missing == {}
        log = run.tasks["live_ocr"]
        assert log.log_format == "tlive"
        assert log.headline == "field_exact"
        assert log.ids == ("ocr-00000", "ocr-00001", "ocr-00002", "ocr-00003")
        assert log.metrics["field_exact"].num.tolist() == [1, 0, 1, 1]
        assert log.metrics["field_exact"].higher_is_better is True
        assert log.metrics["cer"].den.tolist() == [4, 4, 4, 4]
        assert log.metrics["cer"].higher_is_better is False
        assert log.clusters.codes.tolist() == [0, 0, 1, 1]
        assert log.slices["lang"].counts() == {"zh": 2, "en": 2}
        assert log.statuses.counts() == {"ok": 3, "unparsed": 1}
        assert log.settings["generation_kwargs"]["max_new_tokens"] == 64

    def test_raw_lines_are_read_when_asked_for(self, tmp_path: Path) -> None:
        log = read_run(write_tlive_run(tmp_path / "bf16", [1, 0, 1])).tasks["live_ocr"]
        assert log.sample(2)["record"]["id"] == "ocr-00002"
        assert log.sample(1)["filtered_resps"] == "¥?"

    def test_slice_frame(self, tmp_path: Path) -> None:
        log = read_run(write_tlive_run(tmp_path / "bf16", [1, 0])).tasks["live_ocr"]
        assert log.slice_frame().loc["ocr-00001"].to_dict() == {"lang": "en", "field": "price"}

    def test_metric_that_only_some_samples_have(self, tmp_path: Path) -> None:
        folder = write_tlive_run(tmp_path / "bf16", [1, 0, 1])
        rows = tlive_rows([1, 0, 1])
        rows[1]["teds"] = {"id": "ocr-00001", "num": 0.5, "den": 1.0}
        write_lines(samples_file(folder), rows)
        teds = read_run(folder).tasks["live_ocr"].metrics["teds"]
        assert teds.present.tolist() == [False, True, False]
        assert teds.den.tolist() == [0, 1, 0]
        assert teds.higher_is_better is None

    def test_set_metric_payload(self, tmp_path: Path) -> None:
        folder = write_tlive_run(tmp_path / "bf16", [1, 0])
        rows = tlive_rows([1, 0])
        rows[0]["ap"] = {"id": "ocr-00000", "kind": "average_precision", "categories": {}}
        write_lines(samples_file(folder), rows)
        payloads = read_run(folder).tasks["live_ocr"].metrics["ap"].payloads
        assert payloads == (rows[0]["ap"], None)

    def test_newest_log_of_a_task_counts(self, tmp_path: Path) -> None:
        folder = write_tlive_run(tmp_path / "bf16", [1, 0])
        later = folder / "nano" / "20260802_000000_samples_live_ocr.jsonl"
        write_lines(later, tlive_rows([1, 1]))
        results = later.with_name("20260802_000000_results.json")
        results.write_text(results_file(folder).read_text())
        run = read_run(folder)
        assert run.tasks["live_ocr"].path == later
        assert [path.name for path in run.superseded] == [f"{DATE}_samples_live_ocr.jsonl"]
        older = read_run(folder / "nano" / f"{DATE}_results.json")
        assert older.tasks["live_ocr"].metrics["field_exact"].num.tolist() == [1, 0]

    def test_task_without_a_sample_log_is_missing(self, tmp_path: Path) -> None:
        folder = write_tlive_run(tmp_path / "bf16", [1, 0])
        content = results_content("live_ocr", 2, {"field_exact": True}, headline="field_exact")
        content["n-samples"]["live_asr"] = {"original": 5, "effective": 5}
        results_file(folder).write_text(json.dumps(content))
        assert "--log_samples" in read_run(folder).missing["live_asr"]
        assert read_run(folder, tasks=["live_ocr"]).missing == {}

    def test_a_slice_attribute_that_identifies_the_sample_is_refused(self, tmp_path: Path) -> None:
        folder = write_tlive_run(tmp_path / "bf16", [1] * 1001, langs=[f"l{i}" for i in range(1001)])
        with pytest.raises(LogError, match=r"samples_live_ocr.jsonl:1: slice attribute 'lang' has 1001 values"):
            read_run(folder)


class TestForeignRuns:
    def test_lmms_eval(self, tmp_path: Path) -> None:
        log = read_run(write_lmms_eval_run(tmp_path / "out", [1.0, 0, True, 1, 0, 0])).tasks["pope"]
        assert log.log_format == "lmms-eval"
        assert log.headline == "accuracy"
        assert log.metrics["accuracy"].num.tolist() == [1, 0, 1, 1, 0, 0]
        assert log.metrics["accuracy"].den.tolist() == [1] * 6
        assert len(set(log.ids)) == 6
        assert log.ids[5] == log.ids[1] + "#2"  # the same question and answer about another image
        assert len(log.clusters.values) == 6

    def test_ids_do_not_depend_on_the_order_of_the_file(self, tmp_path: Path) -> None:
        folder = write_lmms_eval_run(tmp_path / "out", [1, 0, 1, 1, 0, 0])
        before = read_run(folder).tasks["pope"]
        lines = samples_file(folder).read_text().splitlines(keepends=True)
        samples_file(folder).write_text("".join(reversed(lines)))
        after = read_run(folder).tasks["pope"]
        assert after.ids == before.ids[::-1]

    def test_score_inside_an_object(self, tmp_path: Path) -> None:
        values = [{"question_id": 1, "score": 0.25}, {"question_id": 2, "score": 1}]
        log = read_run(write_lmms_eval_run(tmp_path / "out", values)).tasks["pope"]
        assert log.metrics["accuracy"].num.tolist() == [0.25, 1]

    def test_filters_that_lmms_eval_does_not_name_in_its_lines(self, tmp_path: Path) -> None:
        folder = write_lmms_eval_run(tmp_path / "out", [1, 0])
        rows = [json.loads(line) for line in samples_file(folder).read_text().splitlines()]
        write_lines(samples_file(folder), rows + [{**row, "accuracy": 1} for row in rows])
        content = results_content("pope", 2, {"accuracy": True})
        content["results"]["pope"] = {"accuracy,strict": 0.5, "accuracy,flexible": 1.0, "accuracy_stderr,strict": 0}
        results_file(folder).write_text(json.dumps(content))
        log = read_run(folder).tasks["pope"]
        assert log.metrics["accuracy,strict"].num.tolist() == [1, 0]
        assert log.metrics["accuracy,flexible"].num.tolist() == [1, 1]
        assert log.headline == "accuracy,strict"

    def test_lm_eval(self, tmp_path: Path) -> None:
        log = read_run(write_lm_eval_run(tmp_path / "out", [1.0, 0.0, 1.0])).tasks["gsm8k"]
        assert log.log_format == "lm-eval"
        assert list(log.metrics) == ["exact_match,strict-match", "exact_match,flexible-extract"]
        assert log.metrics["exact_match,strict-match"].num.tolist() == [1, 0, 1]
        assert log.metrics["exact_match,strict-match"].higher_is_better is True
        assert len(set(log.ids)) == 3

    def test_metrics_that_cannot_be_counted_are_refused_when_used(self, tmp_path: Path) -> None:
        folder = write_lmms_eval_run(tmp_path / "out", [1, 0])
        rows = [json.loads(line) for line in samples_file(folder).read_text().splitlines()]
        rows[1]["loglikelihood"] = rows[0]["loglikelihood"] = -3.5
        write_lines(samples_file(folder), rows)
        content = results_content("pope", 2, {"accuracy": True, "loglikelihood": True})
        results_file(folder).write_text(json.dumps(content))
        log = read_run(folder).tasks["pope"]
        assert list(log.metrics) == ["accuracy"]
        with pytest.raises(LogError, match=r"jsonl:1: loglikelihood must be at least 0, got -3.5"):
            log.metric("loglikelihood")
        with pytest.raises(LogError, match="no metric 'f1'; it has accuracy, loglikelihood"):
            log.metric("f1")

    def test_empty_answers_are_seen(self, tmp_path: Path) -> None:
        folder = write_lmms_eval_run(tmp_path / "out", [1, 0])
        rows = [json.loads(line) for line in samples_file(folder).read_text().splitlines()]
        rows[1]["filtered_resps"] = [" "]
        write_lines(samples_file(folder), rows)
        assert read_run(folder).tasks["pope"].statuses.counts() == {"ok": 1, "empty": 1}

    def test_limit_with_an_offset_is_no_truncation(self, tmp_path: Path) -> None:
        folder = write_lmms_eval_run(
            tmp_path / "out", [1, 0], results={"n-samples": {"pope": {"original": 9, "effective": 9}}}
        )
        with pytest.raises(LogError, match=r"jsonl:2: ends after 2 samples where .* counts 9"):
            read_run(folder)
        content = json.loads(results_file(folder).read_text())
        content["config"]["offset"] = 7
        results_file(folder).write_text(json.dumps(content))
        assert len(read_run(folder).tasks["pope"]) == 2


class TestRefusedFolders:
    def test_two_models(self, tmp_path: Path) -> None:
        write_lm_eval_run(tmp_path / "out", [1, 0], model="a")
        write_lm_eval_run(tmp_path / "out", [1, 0], model="b")
        with pytest.raises(LogError, match="logs of 2 models"):
            read_run(tmp_path / "out")
        assert len(read_run(tmp_path / "out" / "a").tasks["gsm8k"]) == 2

    def test_two_variants_in_one_output_folder(self, tmp_path: Path) -> None:
        folder = write_lmms_eval_run(tmp_path / "out", [1, 0])
        content = json.loads(results_file(folder).read_text())
        for date, variant in (("20260101_000000", "bf16"), ("20260102_000000", "w8a8")):
            path = results_file(folder).with_name(f"{date}_results.json")
            path.write_text(json.dumps(content | {"config": {"model": "vllm", "model_args": f"variant={variant}"}}))
        results_file(folder).with_name(f"{DATE}_results.json").unlink()
        with pytest.raises(LogError, match=r"mixed models in one folder: 'vllm nano variant=w8a8' here, .*bf16' in"):
            read_run(folder)

    def test_other_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("x")
        with pytest.raises(LogError, match="neither a run folder nor a results file"):
            read_run(tmp_path / "a.txt")

    def test_folder_links_are_not_followed_and_named(self, tmp_path: Path) -> None:
        write_lmms_eval_run(tmp_path / "elsewhere", [1, 0])
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "llava").symlink_to(tmp_path / "elsewhere" / "llava")
        with pytest.raises(LogError, match=r"llava is a link and was not followed"):
            read_run(tmp_path / "out")

    def test_named_pipe(self, tmp_path: Path) -> None:
        folder = write_lmms_eval_run(tmp_path / "out", [1, 0])
        samples_file(folder).unlink()
        os.mkfifo(folder / "llava" / f"{DATE}_samples_pope.jsonl")
        with pytest.raises(LogError, match="not a regular file"):
            read_run(folder)

    def test_dangling_link(self, tmp_path: Path) -> None:
        folder = write_lmms_eval_run(tmp_path / "out", [1, 0])
        samples_file(folder).unlink()
        (folder / "llava" / f"{DATE}_samples_pope.jsonl").symlink_to("gone.jsonl")
        with pytest.raises(LogError, match=r"leads nowhere: 'gone\.jsonl'"):
            read_run(folder)

    def test_too_many_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tliveomni_eval.evals.logs.log_files._MOST_ENTRIES", 1)
        with pytest.raises(LogError, match="more than 1 files"):
            read_run(write_tlive_run(tmp_path / "out", [1, 0]))

    def test_unlistable_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(folder: Path) -> None:
            raise PermissionError(13, "Permission denied", str(folder))

        monkeypatch.setattr("os.scandir", refuse)
        with pytest.raises(LogError, match="cannot be listed: Permission denied"):
            read_run(tmp_path)


class TestJsonLines:
    def test_python_nan_is_read_and_blank_lines_are_passed_over(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_text('{"a": NaN}\n\n{"b": 1}')
        first, second = list(read_json_lines(path))
        assert np.isnan(first.value["a"])
        assert (second.number, second.value) == (3, {"b": 1})

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b'{"a": 1}\n[1]\n', r"a.jsonl:2: must be a JSON object, got list '\[1\]'"),
            (b'{"a": 1}\n{"a": "\xff"}\n', "a.jsonl:2: not UTF-8: byte 0xff"),
            (b'{"a": 1}\nhello\n', "a.jsonl:2: not JSON"),
            (b'{"a": 1}\n{"a": ', "a.jsonl:2: the last line is cut off"),
            (b'{"a": ' + b"[" * 200_000 + b"\n", "a.jsonl:1: not"),
        ],
    )
    def test_faults_name_file_and_line(self, tmp_path: Path, content: bytes, message: str) -> None:
        path = tmp_path / "a.jsonl"
        path.write_bytes(content)
        with pytest.raises(LogError, match=message):
            list(read_json_lines(path))

    def test_long_line_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_bytes(b'{"a": 1}\n' + b'{"a": "' + b"x" * 2 * 2**20 + b'"}\n')
        with pytest.raises(LogError, match=r"a\.jsonl:2: line is longer than 1 MiB"):
            list(read_json_lines(path, longest_line=2**20))

    def test_large_or_absent_file_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        path.write_text('{"a": 1}')
        with pytest.raises(LogError, match="larger than 0 MiB"):
            read_json_file(path, largest=4)
        with pytest.raises(LogError, match="cannot be read: No such file"):
            read_json_file(tmp_path / "b.json")
        with pytest.raises(LogError, match="cannot be read: No such file"):
            list(read_json_lines(tmp_path / "b.jsonl"))

    @given(st.binary(max_size=200))
    def test_any_bytes_are_read_or_refused(self, tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
        path = tmp_path_factory.mktemp("bytes") / "a.jsonl"
        path.write_bytes(content)
        try:
            lines = list(read_json_lines(path))
        except LogError as error:
            assert error.path == path
            assert error.line is not None
        else:
            assert all(isinstance(line.value, dict) for line in lines)


class TestRunInfo:
    def test_round_trip(self, tmp_path: Path) -> None:
        folder = write_tlive_run(tmp_path / "bf16", [1])
        info = read_run_info(folder / "run.json")
        assert info.duration_s == 900
        assert RunInfo.model_validate_json(info.model_dump_json()) == info
        assert [path.name for path in folder.iterdir() if path.is_file()] == ["run.json"]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"schema_version": 2}, "schema_version"),
            ({"colour": "red"}, "colour: Extra inputs"),
            ({"end": "2020-01-01T00:00:00Z"}, "is before start"),
            ({"start": "2026-01-01T00:00:00"}, "start: Input should have timezone"),
        ],
    )
    def test_faults_name_file_and_field(self, tmp_path: Path, change: dict[str, object], message: str) -> None:
        path = write_tlive_run(tmp_path / "bf16", [1]) / "run.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        with pytest.raises(LogError, match=rf"run.json: .*{message}"):
            read_run(tmp_path / "bf16")

    def test_absent_or_huge(self, tmp_path: Path) -> None:
        with pytest.raises(LogError, match="cannot be read"):
            read_run_info(tmp_path / "run.json")
        with (tmp_path / "run.json").open("wb") as file:
            file.truncate(2**30)
        with pytest.raises(LogError, match="larger than 16 MiB"):
            read_run_info(tmp_path / "run.json")

    def test_unfinished_run(self, tmp_path: Path) -> None:
        folder = write_tlive_run(tmp_path / "bf16", [1], run_info={"exit_status": None, "end": None})
        assert read_run_info(folder / "run.json").duration_s is None
        with pytest.raises(LogError, match="has not ended"):
            read_run(folder)

    def test_linked_run_info(self, tmp_path: Path) -> None:
        folder = write_tlive_run(tmp_path / "bf16", [1])
        (folder / "run.json").rename(tmp_path / "other.json")
        (folder / "run.json").symlink_to(tmp_path / "other.json")
        with pytest.raises(LogError, match="link out of the run folder"):
            read_run(folder)


class TestCheckpointFingerprint:
    def test_follows_weights_and_ignores_prose(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text("{}")
        (tmp_path / "model.safetensors").write_bytes(b"\0" * 8)
        first = fingerprint_checkpoint(tmp_path)
        assert list(first.files) == ["config.json", "model.safetensors"]
        (tmp_path / "README.md").write_text("hello")
        (tmp_path / "LICENSE.txt").write_text("hello")
        assert fingerprint_checkpoint(tmp_path) == first
        (tmp_path / "model.safetensors").write_bytes(b"\1" * 8)
        assert fingerprint_checkpoint(tmp_path).fingerprint != first.fingerprint

    def test_no_checkpoint(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="does not exist"):
            fingerprint_checkpoint(tmp_path / "none")
        with pytest.raises(FileNotFoundError, match="holds no config"):
            fingerprint_checkpoint(tmp_path)
