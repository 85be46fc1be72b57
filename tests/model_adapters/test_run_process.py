"""`tlive run` reports what its processes do, whatever they do; the evaluation itself is a stand-in here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from tliveomni_eval.evals import cli
from tliveomni_eval.model_adapters.run import child_process, side_by_side
from tliveomni_eval.model_adapters.run.child_process import RunOutcome
from tliveomni_eval.model_adapters.run.parallel_runs import run_in_fresh_processes
from tliveomni_eval.model_adapters.run.run_display import RunDisplay, outcome_table
from tliveomni_eval.model_adapters.run.run_events import Answered, EventWriter, Failed, Loaded, Scored
from tliveomni_eval.model_adapters.run.run_specification import RunSpecification


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "_MODULE", "fake_evaluation")
    monkeypatch.setattr(side_by_side, "has_cpu_build_of_vllm", lambda: False)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def run_in_fresh_process(
    wanted: RunSpecification, on_event: Callable[[Loaded | Answered | Scored | Failed], None]
) -> RunOutcome:
    (outcome,) = run_in_fresh_processes([wanted], lambda _, event: on_event(event))
    return outcome


def specification(folder: Path, variant: str) -> RunSpecification:
    folder.mkdir(exist_ok=True)
    return RunSpecification(run_folder=folder, name=variant, variant=variant, tasks=["live_ocr"], only_our_tasks=True)


@pytest.mark.usefixtures("fake")
def test_events_arrive_in_order_and_scores_come_back(tmp_path: Path) -> None:
    seen: list[object] = []
    outcome = run_in_fresh_process(specification(tmp_path, "bf16"), seen.append)
    assert outcome.exit_status == 0
    assert outcome.scored is not None
    assert outcome.scored.scores == {"live_ocr": {"field_exact": 0.5}}
    assert [type(event) for event in seen] == [Loaded, Answered, Answered, Scored]


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("variant", "status", "says"),
    [("fails", 1, "'x.webp' is truncated"), ("dies", -9, "about to die"), ("silent", 1, "without results")],
)
def test_a_failure_is_a_failure_with_a_reason(tmp_path: Path, variant: str, status: int, says: str) -> None:
    outcome = run_in_fresh_process(specification(tmp_path, variant), lambda _: None)
    assert outcome.exit_status == status
    assert says in outcome.message


def test_an_interrupt_ends_the_child_too(tmp_path: Path) -> None:
    code = (
        "import signal, sys; from pathlib import Path\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from tliveomni_eval.model_adapters.run import child_process, parallel_runs\n"
        "from tliveomni_eval.model_adapters.run.run_specification import RunSpecification\n"
        "child_process._MODULE = 'fake_evaluation'\n"
        "folder = Path(sys.argv[1])\n"
        "spec = RunSpecification(run_folder=folder, name='x', variant='hangs', tasks=['t'], only_our_tasks=True)\n"
        "parallel_runs.run_in_fresh_processes([spec], lambda *_: None)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    words = [sys.executable, "-c", code, str(tmp_path)]
    parent = subprocess.Popen(words, env=environment, start_new_session=True, stderr=subprocess.PIPE)
    while not (tmp_path / "ready").exists():
        assert parent.poll() is None, parent.stderr and parent.stderr.read()
        time.sleep(0.05)
    parent.send_signal(signal.SIGINT)
    assert parent.wait(timeout=60) != 0
    assert (tmp_path / "interrupted").exists()


def test_nobody_listening_does_not_stop_a_run() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    events = EventWriter(write_end)
    for done in range(3):
        events.send(Answered(done=done, total=3))
    EventWriter(None).send(Answered(done=1, total=3))


def run_command(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", *words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.usefixtures("fake")
def test_one_failed_run_fails_the_command_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoints = [f"--checkpoint={name}={tmp_path}" for name in ("fails", "own")]
    code = run_command("--variants", "fails,own", *checkpoints, "--out", str(tmp_path / "runs"), "--json")
    captured = capsys.readouterr()
    outcomes = json.loads(captured.out)
    assert code == 1
    assert [(outcome["name"], outcome["exit_status"]) for outcome in outcomes] == [("fails", 1), ("own", 0)]
    assert "error: fails: the image 'x.webp' is truncated" in captured.err


@pytest.mark.usefixtures("fake")
def test_where_a_run_was_interrupted_the_later_ones_do_not_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoints = [f"--checkpoint={name}={tmp_path}" for name in ("interrupted", "own")]
    words = ["--variants", "interrupted,own", *checkpoints, "--jobs", "1", "--out", str(tmp_path / "runs")]
    assert run_command(*words) == 130
    captured = capsys.readouterr()
    assert "error: interrupted: interrupted; completed responses are in its journal" in captured.err
    assert "own: loading" not in captured.out


@pytest.mark.usefixtures("fake")
def test_fresh_forgets_the_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = tmp_path / "runs" / "own" / "journal.sqlite"
    journal.parent.mkdir(parents=True)
    journal.touch()
    words = ["--variants", "own", f"--checkpoint=own={tmp_path}", "--out", str(tmp_path / "runs")]
    assert run_command(*words) == 0
    assert journal.exists()
    assert run_command(*words, "--fresh") == 0
    assert not journal.exists()
    assert "own: 2 of 2 answered" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["--variants", "w8a9"], 1, "Did you mean 'w8a8'"),
        (["--variants", ","], 64, "names nothing"),
        (["--variants", "../x"], 64, "is not a name"),
        (["--checkpoint", "bf16"], 64, "VARIANT=FOLDER"),
        (["--checkpoint", "other=/x"], 1, "not among --variants"),
        (["--model-args", "varient=1"], 1, "Did you mean 'variant'"),
        (["--model-args", "variant=w8a8"], 64, "set by --variants"),
    ],
)
def test_wrong_options_are_refused_before_anything_starts(
    tmp_path: Path, words: list[str], status: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command("--out", str(tmp_path), *words) == status
    assert says in capsys.readouterr().err


def test_a_faulty_data_folder_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TLIVE_DATA", str(tmp_path))
    (tmp_path / "manifest.jsonl").write_text('{"id": "a"}\n')
    assert run_command("--out", str(tmp_path / "runs")) == 1
    assert "line 1, field task: missing" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert run_command("--out", str(tmp_path / "file")) == 1
    assert "choose another with --out" in capsys.readouterr().err


def test_the_table_shows_headlines_and_failures() -> None:
    scored = Scored(scores={"live_ocr": {"field_exact": 0.9, "anls": 0.8}}, from_journal=1, answered=3, seconds=2.0)
    outcomes = {"bf16": RunOutcome(0, scored=scored), "fp8": RunOutcome(1, message="x")}
    console = Console(record=True, width=140)
    console.print(outcome_table(outcomes, {"live_ocr": "field_exact"}))
    shown = console.export_text()
    assert "0.9000" in shown
    assert "0.8000" not in shown
    assert "1.5" in shown
    assert "failed (1)" in shown


def test_a_display_off_a_terminal_tells_tenths() -> None:
    console = Console(record=True, force_terminal=False, width=100)
    with RunDisplay(console, ["bf16"]) as display:
        display.show("bf16", Loaded(kernels=[], seconds=2))
        for done in range(1, 41):
            display.show("bf16", Answered(done=done, total=40))
    assert console.export_text().count("answered") == 10
