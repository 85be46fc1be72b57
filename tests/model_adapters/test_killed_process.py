"""A process that somebody killed is replaced and blames no request; one that memory ran out for blames what it held."""

from __future__ import annotations

import signal
from pathlib import Path
from subprocess import TimeoutExpired

import pytest
from tliveomni_eval.model_adapters.run import supervised_run
from tliveomni_eval.model_adapters.run.child_process import FreshProcessRun, RunOutcome
from tliveomni_eval.model_adapters.run.oom_kills import oom_kills
from tliveomni_eval.model_adapters.run.run_events import Event, Scored
from tliveomni_eval.model_adapters.run.run_specification import RunSpecification
from tliveomni_eval.model_adapters.run.supervised_run import SupervisedRun
from tliveomni_eval.model_adapters.vllm_backend.engine_deaths import EngineDeaths


def test_kills_are_counted_over_the_machine_and_the_group(tmp_path: Path) -> None:
    machine, group = tmp_path / "vmstat", tmp_path / "memory.events"
    machine.write_text("nr_free_pages 7\noom_kill 3\noom_killed_before 9\n")
    assert oom_kills((machine, group)) == 3
    group.write_text("low 0\noom 5\noom_kill 2\noom_group_kill 1\n")
    assert oom_kills((machine, group)) == 5


class FirstProcessKilled:
    """Stands in for `FreshProcessRun`: the first process ends by a signal with a request in its engine."""

    started: list[RunSpecification]
    ended_by: int

    def __init__(self, specification: RunSpecification, _: object) -> None:
        self.started.append(specification)
        if len(self.started) == 1:
            EngineDeaths(specification.run_folder).entered("key", "live_ocr", 7)

    def follow(self, _: object) -> RunOutcome:
        if len(self.started) == 1:
            return RunOutcome(-self.ended_by)
        return RunOutcome(0, scored=Scored(scores={}, from_journal=0, answered=1, seconds=1))

    def end_group(self) -> None:
        pass


@pytest.mark.parametrize(
    ("ended_by", "memory_ran_out", "blamed"),
    [
        (signal.SIGKILL, False, False),
        (signal.SIGKILL, True, True),
        (signal.SIGSEGV, False, True),
        (signal.SIGABRT, False, True),
    ],
)
def test_only_a_death_of_the_engine_blames_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended_by: int, memory_ran_out: bool, blamed: bool
) -> None:
    counts = iter([4, 5 if memory_ran_out else 4])
    monkeypatch.setattr(supervised_run, "oom_kills", lambda: next(counts))
    monkeypatch.setattr(supervised_run, "FreshProcessRun", FirstProcessKilled)
    monkeypatch.setattr(FirstProcessKilled, "started", [], raising=False)
    monkeypatch.setattr(FirstProcessKilled, "ended_by", ended_by, raising=False)
    specification = RunSpecification(
        run_folder=tmp_path, name="x", variant="bf16", tasks=["live_ocr"], only_our_tasks=True
    )
    seen: list[Event] = []
    assert SupervisedRun(specification).follow(seen.append).exit_status == 0
    first, second = FirstProcessKilled.started
    assert first.after_engine_death == ""
    assert bool(second.after_engine_death) is blamed
    assert [event.event for event in seen] == ["restarted"]


class HardOfHearing:
    """A process that hears the interrupt only when it is told `deaf` times again."""

    pid = None

    def __init__(self, deaf: int) -> None:
        self.deaf, self.heard, self.killed = deaf, 0, False

    def poll(self) -> int | None:
        return -signal.SIGKILL if self.killed else 130 if self.heard > self.deaf else None

    def wait(self, timeout: float | None = None) -> int:
        if (status := self.poll()) is None:
            raise TimeoutExpired("evaluation", timeout or 0)
        return status

    def send_signal(self, number: int, /) -> None:
        self.heard += number == signal.SIGINT

    def kill(self) -> None:
        self.killed = True


@pytest.mark.parametrize(("deaf", "killed"), [(0, False), (1, False), (3, False), (10**6, True)])
def test_an_interrupt_that_was_not_heard_is_said_again(deaf: int, killed: bool) -> None:
    run = FreshProcessRun.__new__(FreshProcessRun)
    run._child = child = HardOfHearing(deaf)
    run.interrupt()
    run.end()
    assert child.killed is killed
    assert child.poll() is not None
