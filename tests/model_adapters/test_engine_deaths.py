"""An engine that dies of a sample is started anew, the sample is asked alone, and given up the second time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from filelock import FileLock
from tliveomni_eval.evals import cli
from tliveomni_eval.model_adapters.run import child_process, side_by_side, supervised_run
from tliveomni_eval.model_adapters.run.blame_row import BlameRow
from tliveomni_eval.model_adapters.run.child_process import RunOutcome
from tliveomni_eval.model_adapters.run.run_events import Event, Restarted
from tliveomni_eval.model_adapters.run.run_specification import RunSpecification
from tliveomni_eval.model_adapters.run.supervised_run import SupervisedRun
from tliveomni_eval.model_adapters.vllm_backend.chat_model import ChatModel, OpenRequest
from tliveomni_eval.model_adapters.vllm_backend.engine_deaths import (
    DEATHS_NAME,
    IN_FLIGHT_NAME,
    EngineDeaths,
    noted_deaths,
    open_requests,
)
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import EngineDiedError, Request, Response, run_requests
from tliveomni_eval.model_adapters.vllm_backend.media_settings import MediaSettings
from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments
from tliveomni_eval.model_adapters.vllm_backend.response_journal import ResponseJournal

SAMPLES = 9
AT_A_TIME = 4
DOCUMENTS = [{"id": number} for number in range(SAMPLES)]


class PlainTemplate:
    """Renders the text of messages."""

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> str:
        return "".join(part["text"] for message in conversation for part in message["content"])


class PoisonedEngine:
    """Answers the oldest request each step; a step with a poisoned one inside kills it."""

    def __init__(self, poisoned: set[int], asked: list[list[int]]) -> None:
        self._poisoned = poisoned
        self._asked = asked
        self._inside: list[str] = []

    def add_request(self, request_id: str, prompt: Any, params: Any) -> None:
        self._inside.append(request_id)

    def has_unfinished_requests(self) -> bool:
        return bool(self._inside)

    def step(self) -> list[Any]:
        numbers = [int(name) for name in self._inside]
        self._asked.append(numbers)
        if self._poisoned & set(numbers):
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        completion = SimpleNamespace(text=f"answer {numbers[0]}", token_ids=[1], finish_reason="stop")
        name = self._inside.pop(0)
        return [SimpleNamespace(finished=True, request_id=name, outputs=[completion], prompt_token_ids=[1])]


class FakeModel(ChatModel):
    """The chat model, with the embedded checkpoint and an engine that can be poisoned."""

    model_name = "fake"

    def __init__(self, journal: ResponseJournal, engine: PoisonedEngine, documents: list[dict[str, Any]]) -> None:
        super().__init__(ModelArguments(), journal, lambda done, total: None)
        self._template = PlainTemplate()
        self.media_settings = MediaSettings(frozenset())
        self._engine = engine
        self.task_dict = {"t": {"test": documents}}

    def _answer(
        self, requests: list[Any], todo: Iterator[OpenRequest], answered: Callable[[int, Response], None]
    ) -> None:
        entering = (Request(str(request.index), None, None) for request in todo)
        run_requests(self._engine, entering, lambda name, response: answered(int(name), response), AT_A_TIME)


def requests() -> list[Any]:
    def messages(doc: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"role": "user", "content": [{"type": "text", "text": f"question {doc['id']}"}]}]

    return [SimpleNamespace(args=("", messages, {}, number, "t", "test"), task_name="t") for number in range(SAMPLES)]


def run_to_the_end(
    folder: Path, poisoned: set[int], documents: list[dict[str, Any]] = DOCUMENTS
) -> tuple[list[str | None], list[list[int]], FakeModel, int]:
    """As `tlive run` does it: a new process after each death of the engine."""
    asked: list[list[int]] = []
    reason, deaths = "", 0
    while True:
        with ResponseJournal(folder / "journal.sqlite") as journal:
            model = FakeModel(journal, PoisonedEngine(poisoned, asked), documents)
            try:
                with noted_deaths(folder, reason) as notes:
                    model.deaths = notes
                    return [result.text for result in model.generate_until(requests())], asked, model, deaths
            except EngineDiedError as error:
                reason, deaths = str(error), deaths + 1
                assert deaths < 10


@pytest.mark.parametrize("poisoned", [set(), {5}, {0}, {3, 4}])
def test_only_the_sample_that_kills_the_engine_twice_is_given_up(tmp_path: Path, poisoned: set[int]) -> None:
    answers, asked, model, deaths = run_to_the_end(tmp_path, poisoned)
    assert answers == ["" if number in poisoned else f"answer {number}" for number in range(SAMPLES)]
    assert [(sample.task, sample.document, sample.deaths) for sample in model.quarantined] == [
        ("t", number, 2) for number in sorted(poisoned)
    ]
    # Once in the crowd, once alone; two that are in one crowd share the first.
    assert (1 + len(poisoned) if poisoned else 0) <= deaths <= 2 * len(poisoned)
    fatal = [inside for inside in asked if poisoned & set(inside)]
    assert len(fatal) == deaths
    assert sorted(inside[0] for inside in fatal if len(inside) == 1) == sorted(poisoned)
    assert all("illegal memory access" in sample.reason for sample in model.quarantined)
    assert not (tmp_path / IN_FLIGHT_NAME).exists()


def test_a_later_run_does_not_ask_a_sample_that_was_given_up(tmp_path: Path) -> None:
    run_to_the_end(tmp_path, {5})
    answers, asked, model, deaths = run_to_the_end(tmp_path, {5})
    assert (asked, deaths, answers[5]) == ([], 0, "")
    assert [sample.document for sample in model.quarantined] == [5]
    (tmp_path / DEATHS_NAME).unlink()
    assert run_to_the_end(tmp_path, set())[0][5] == "answer 5"


def test_our_tasks_get_no_answer_and_tasks_of_others_an_empty_one(tmp_path: Path) -> None:
    ours = {"id": 0, "cluster": "c", "slices": "{}", "reference": "x"}
    answers, *_ = run_to_the_end(tmp_path, {0, 1}, [ours, *DOCUMENTS[1:]])
    assert answers[:3] == [None, "", "answer 2"]


def test_a_run_that_was_killed_as_a_whole_blames_nobody(tmp_path: Path) -> None:
    notes = EngineDeaths(tmp_path)
    notes.entered("a", "t", 1)
    notes.entered("b", "t", 2)
    notes.left("a")
    (tmp_path / IN_FLIGHT_NAME).open("ab").write(b'["+", "c", "t"')
    assert open_requests(tmp_path) == {"b": ("t", 2)}
    assert EngineDeaths(tmp_path).find("b") is None
    assert open_requests(tmp_path) == {}


def test_blame_is_taken_back_where_no_answer_came_between_the_deaths(tmp_path: Path) -> None:
    with ResponseJournal(tmp_path / "journal.sqlite") as journal:
        journal.write("k", "t", 0, Response("x", 1, 1, "stop"))
        (tmp_path / DEATHS_NAME).write_text("before")
        blame = BlameRow(tmp_path)
        assert [blame.deaths_in_a_row() for _ in range(2)] == [1, 2]
        journal.write("l", "t", 1, Response("x", 1, 1, "stop"))
        assert blame.deaths_in_a_row() == 1
        (tmp_path / DEATHS_NAME).write_text("after")
        blame.take_back()
        assert (tmp_path / DEATHS_NAME).read_text() == "before"
    fresh = BlameRow(tmp_path / "none")
    fresh.take_back()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "_MODULE", "fake_evaluation")
    monkeypatch.setattr(child_process, "TIME_FOR_STACKS_S", 0.0)
    monkeypatch.setattr(side_by_side, "has_cpu_build_of_vllm", lambda: False)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def supervised(folder: Path, behaviour: str) -> tuple[RunOutcome, list[str]]:
    events: list[Event] = []
    specification = RunSpecification(
        run_folder=folder, name="x", variant=behaviour, tasks=["t"], only_our_tasks=True, hang_timeout_s=1
    )
    outcome = SupervisedRun(specification).follow(events.append)
    return outcome, [event.reason for event in events if isinstance(event, Restarted)]


@pytest.mark.usefixtures("fake")
def test_a_process_that_dies_at_work_is_replaced_and_knows_why(tmp_path: Path) -> None:
    outcome, reasons = supervised(tmp_path, "engine aborts once")
    assert (outcome.exit_status, reasons) == (0, ["its process was ended by signal 6"])
    assert (tmp_path / "reason").read_text() == reasons[0]


@pytest.mark.usefixtures("fake")
def test_a_process_killed_from_outside_is_replaced_and_blames_nobody(tmp_path: Path) -> None:
    outcome, reasons = supervised(tmp_path, "engine killed once")
    assert (outcome.exit_status, reasons) == (0, ["its process was ended by signal 9"])
    assert (tmp_path / "reason").read_text() == ""


@pytest.mark.usefixtures("fake")
def test_a_hung_engine_leaves_its_stacks_and_is_replaced(tmp_path: Path) -> None:
    outcome, reasons = supervised(tmp_path, "engine hangs once")
    assert (outcome.exit_status, reasons) == (0, ["no token for 1 s; the stacks are in run.log"])
    log = (tmp_path / "run.log").read_text()
    assert "Timeout (0:00:01)!" in log
    assert "fake_evaluation.py" in log and "in hang_in_the_engine" in log


@pytest.mark.usefixtures("fake")
def test_an_engine_that_always_dies_is_the_engines_fault(tmp_path: Path) -> None:
    outcome, reasons = supervised(tmp_path, "engine aborts always")
    assert outcome.exit_status == -6
    assert len(reasons) == supervised_run.MOST_DEATHS_IN_A_ROW - 1
    assert "so it is not the samples" in outcome.message


@pytest.mark.usefixtures("fake")
def test_a_process_that_dies_before_it_asks_is_not_replaced(tmp_path: Path) -> None:
    outcome, reasons = supervised(tmp_path, "dies")
    assert (outcome.exit_status, reasons) == (-9, [])


@pytest.mark.usefixtures("fake")
def test_a_second_run_of_a_folder_ends_before_it_touches_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "runs" / "own"
    folder.mkdir(parents=True)
    before = {path.name for path in folder.iterdir()} | {".lock"}
    with FileLock(folder / ".lock"), pytest.raises(SystemExit) as ended:
        cli.main(["run", "--variants", "own", f"--checkpoint=own={tmp_path}", "--out", str(tmp_path / "runs")])
    assert ended.value.code == 1
    assert "another process is writing" in capsys.readouterr().err
    assert {path.name for path in folder.iterdir()} == before


def test_a_watchdog_that_is_fed_bites_nobody() -> None:
    code = (
        "import time\n"
        "from tliveomni_eval.model_adapters.vllm_backend.engine_watchdog import EngineWatchdog\n"
        "with EngineWatchdog(2) as watchdog:\n"
        "    for _ in range(12):\n"
        "        time.sleep(0.25)\n"
        "        watchdog.beat()\n"
        "time.sleep(2.5)\n"
        "print('alive')\n"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (finished.returncode, finished.stdout) == (0, "alive\n"), finished.stderr
