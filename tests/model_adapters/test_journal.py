"""A journal loses and repeats nothing under kills, is verified against the logs, and is pruned only when asked."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from filelock import FileLock
from tliveomni_eval.evals.cli import main
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import Response
from tliveomni_eval.model_adapters.vllm_backend.journal_inspection import prune_journal, responses_by_task
from tliveomni_eval.model_adapters.vllm_backend.response_journal import ResponseJournal, response_key

KILLS = 50
NO_END = 10**9
"""Requests of a process that is killed: it cannot be done before, however slow its killer is."""


def key_of(number: object) -> str:
    return response_key("weights", {}, f"prompt {number}", {})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder with five responses of two tasks and the log of one of them."""
    with ResponseJournal(tmp_path / "journal.sqlite") as journal:
        for document in range(3):
            journal.write(key_of(document), "live_ocr", document, Response(f"¥{document}", 9, 3, "stop"))
        journal.write(key_of("a"), "live_asr", 0, Response(" \n", 9, 2, "length"))
        journal.write(key_of("b"), "live_asr", 1, Response("", 9, 0, "stop"))
    logs = tmp_path / "lmms_eval" / "nano"
    logs.mkdir(parents=True)
    lines = [{"doc_id": document, "filtered_resps": f"¥{document}"} for document in range(3)]
    (logs / "20261201_000000_samples_live_ocr.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def tlive(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        main(["journal", *map(str, words)])
    output = "".join(capsys.readouterr())
    assert "Traceback" not in output
    return int(caught.value.code or 0), output


def test_inspect_counts_by_task(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, output = tlive(capsys, "inspect", run, "--json")
    tasks = {task["task"]: task for task in json.loads(output)["tasks"]}
    assert status == 0
    assert tasks["live_ocr"] | {"task": ""} == {
        "task": "", "responses": 3, "documents": 3, "output_tokens": 9, "cut": 0, "empty": 0,
    }  # fmt: skip
    assert (tasks["live_asr"]["cut"], tasks["live_asr"]["empty"]) == (1, 2)
    status, output = tlive(capsys, "inspect", run / "journal.sqlite")
    assert status == 0 and "5 responses in" in output


def test_verify_passes_a_whole_journal(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tlive(capsys, "verify", run) == (0, "5 responses, no fault\n")


def test_a_sample_whose_request_failed_is_in_the_log_and_in_no_journal(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (log,) = run.rglob("*_samples_live_ocr.jsonl")
    failed = {"doc_id": 3, "filtered_resps": "", "record": {"status": "error"}}
    log.write_text(log.read_text() + json.dumps(failed) + "\n")
    assert tlive(capsys, "verify", run) == (0, "5 responses, no fault\n")
    log.write_text(log.read_text().replace("error", "ok"))
    assert tlive(capsys, "verify", run)[0] == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("UPDATE responses SET text = '¥9' WHERE text = '¥1'", "jsonl:2: document 1 has another answer in the log"),
        (
            "DELETE FROM responses WHERE text = '¥2'",
            "jsonl:3: document 2 is answered in the log and not in the journal",
        ),
        ("UPDATE responses SET key = 'x' WHERE text = '¥2'", "its key is no SHA-256"),
        ("UPDATE responses SET output_tokens = 0 WHERE text = '¥2'", "no output token"),
        ("UPDATE responses SET input_tokens = -1 WHERE text = '¥2'", "whole numbers from 0"),
        ("UPDATE responses SET finish_reason = '' WHERE text = '¥2'", "finish reason"),
    ],
)
def test_verify_names_what_is_wrong(run: Path, change: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(run / "journal.sqlite") as database:
        assert database.execute(change).rowcount == 1
    database.close()
    status, output = tlive(capsys, "verify", run)
    assert (status, output.count("\n")) == (1, 2)
    assert says in output


@pytest.mark.parametrize("damage", ["a page", "the header", "cut", "other tables", "none", "no log"])
def test_a_damaged_journal_is_told(tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "journal.sqlite"
    if damage == "other tables":
        sqlite3.connect(path).execute("CREATE TABLE t (x)")
    elif damage != "none":
        with ResponseJournal(path) as journal:
            for number in range(400):
                journal.write(key_of(number), "t", number, Response("x" * 200, 1, 1, "stop"))
        content = bytearray(path.read_bytes())
        if damage == "a page":
            content[8192 : 8192 + 2000] = b"\xff" * 2000
        elif damage == "the header":
            content[:100] = b"\xff" * 100
        elif damage == "cut":
            content = content[: len(content) // 2]
        path.write_bytes(content)
    status, output = tlive(capsys, "verify", tmp_path)
    assert status == (0 if damage == "no log" else 1)
    assert "journal.sqlite" in output or damage == "no log"


def test_prune_takes_out_what_was_asked_for(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run / "journal.sqlite"
    with ResponseJournal(path) as journal:
        journal.write(key_of("new"), "live_ocr", 1, Response("¥1!", 9, 3, "stop"))
    assert tlive(capsys, "prune", run, "--superseded", "--dry-run")[1].startswith("1 responses would be taken out")
    assert tlive(capsys, "prune", run, "--superseded")[1].startswith("1 responses taken out")
    with ResponseJournal(path) as journal:
        assert (journal.find(key_of(1)), len(journal)) == (None, 5)
        assert journal.find(key_of("new")) == Response("¥1!", 9, 3, "stop")
    assert prune_journal(path, superseded=True) == 0
    assert prune_journal(path, older_than_days=1) == 0
    assert prune_journal(path, task="live_asr", older_than_days=0) == 2
    assert [found.task for found in responses_by_task(path)] == ["live_ocr"]
    assert tlive(capsys, "prune", run)[0] == 64
    status, output = tlive(capsys, "prune", run, "--task", "live_orc")
    assert status == 1 and "Did you mean 'live_ocr'" in output


def test_a_journal_that_a_run_is_writing_is_not_pruned_or_thrown_away(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run / "out"
    (out / "bf16").mkdir(parents=True)
    (out / "bf16" / "journal.sqlite").write_bytes((run / "journal.sqlite").read_bytes())
    with FileLock(out / "bf16" / ".lock"):
        with pytest.raises(UserError, match="a run is writing"):
            prune_journal(out / "bf16" / "journal.sqlite", task="live_ocr")
        with pytest.raises(SystemExit) as caught:
            main(["run", "--fresh", "--out", str(out)])
    assert caught.value.code == 1
    assert "another process is writing" in capsys.readouterr().err
    assert sum(found.responses for found in responses_by_task(out / "bf16" / "journal.sqlite")) == 5


def test_a_journal_of_an_earlier_version_goes_on(run: Path) -> None:
    path = run / "journal.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("ALTER TABLE responses DROP COLUMN written_at")
    database.close()
    assert prune_journal(path, superseded=True) == 0
    with ResponseJournal(path) as journal:
        assert journal.find(key_of(1)) == Response("¥1", 9, 3, "stop")
        journal.write(key_of("new"), "live_ocr", 1, Response("¥1!", 9, 3, "stop"))
    assert prune_journal(path, superseded=True) == 1


def test_what_is_written_together_is_durable_at_the_end_also_after_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with ResponseJournal(path) as journal, ResponseJournal(path) as other:
        with journal.together():
            journal.write(key_of(0), "t", 0, Response("a", 1, 1, "stop"))
            journal.write(key_of(1), "t", 1, Response("b", 1, 1, "stop"))
            assert (len(journal), len(other)) == (2, 0)
        assert len(other) == 2
        with pytest.raises(KeyboardInterrupt), journal.together():
            journal.write(key_of(2), "t", 2, Response("c", 1, 1, "stop"))
            raise KeyboardInterrupt
        assert len(other) == 3
        with journal.together():
            pass
        journal.write(key_of(3), "t", 3, Response("d", 1, 1, "stop"))
        assert len(other) == 4


def test_a_disk_that_fills_up_among_several_is_told_and_the_journal_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with ResponseJournal(path) as journal:
        journal.write(key_of(0), "t", 0, Response("a", 1, 1, "stop"))
        journal._database.execute("PRAGMA max_page_count=4")
        with pytest.raises(UserError, match="full"), journal.together():
            for number in range(1, 1000):
                journal.write(key_of(number), "t", number, Response("x" * 100, 1, 1, "stop"))
        assert journal.find(key_of(0)) == Response("a", 1, 1, "stop")
        assert journal._database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


ANSWERING = """
import sys
from pathlib import Path
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import Response
from tliveomni_eval.model_adapters.vllm_backend.response_journal import ResponseJournal, response_key

folder, requests = Path(sys.argv[1]), int(sys.argv[2])
with ResponseJournal(folder / "journal.sqlite") as journal, (folder / "answered").open("a", buffering=1) as answered:
    print("ready", flush=True)
    for number in range(requests):
        key = response_key("weights", {}, f"prompt {number}", {})
        if journal.find(key) is None:
            answered.write(f"began {number}\\n")
            journal.write(key, "live_ocr", number, Response(f"answer {number}", 9, 3, "stop"))
            answered.write(f"ended {number}\\n")
print("done", flush=True)
"""
"""Answers each request that the journal does not hold, and notes before and after it is journalled."""


def test_kills_at_random_moments_lose_no_response_and_repeat_none(tmp_path: Path) -> None:
    chance = random.Random(9)
    for _ in range(KILLS):
        with _answering(tmp_path, NO_END) as process:
            # After a number of answers, not of seconds, so that each kill meets a process at work.
            wanted = _ended(tmp_path) + chance.randrange(1, 20)
            while _ended(tmp_path) < wanted:
                assert process.poll() is None, "the process ended by itself"
                time.sleep(0.001)
            os.kill(process.pid, chance.choice([signal.SIGKILL, signal.SIGTERM]))
            assert process.wait() < 0
    requests = _ended(tmp_path) + 10
    with _answering(tmp_path, requests) as process:
        assert process.stdout is not None and process.stdout.read() == b"done\n"
    notes = Counter((tmp_path / "answered").read_text().splitlines())
    repeated = [note for note, times in notes.items() if note.startswith("ended") and times > 1]
    # Between its row and its note a kill may fall: such a request is complete and is not begun again.
    assert repeated == []
    with ResponseJournal(tmp_path / "journal.sqlite") as journal:
        answers = [journal.find(key_of(number)) for number in range(requests)]
        assert requests <= len(journal) <= requests + KILLS
    assert answers == [Response(f"answer {number}", 9, 3, "stop") for number in range(requests)]
    began_again = sum(times - 1 for note, times in notes.items() if note.startswith("began"))
    assert began_again <= KILLS


def _answering(folder: Path, requests: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", ANSWERING, str(folder), str(requests)], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    return process


def _ended(folder: Path) -> int:
    notes = folder / "answered"
    return notes.read_bytes().count(b"ended") if notes.exists() else 0
