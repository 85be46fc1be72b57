"""What `tlive run` shows: a bar with rate and time left on a terminal, a line now and then elsewhere; then a table."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from tliveomni_eval.model_adapters.run.child_process import RunOutcome
from tliveomni_eval.model_adapters.run.run_events import Answered, Event, Loaded, Restarted, Scored


class RunDisplay:
    """Progress of the runs that go on at a time.

    Args:
        console: Where to show it.
        names: Names of the runs.
    """

    def __init__(self, console: Console, names: Sequence[str]) -> None:
        self._console = console
        self._last_tenth = dict.fromkeys(names, 0)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._tasks = {name: self._progress.add_task(f"{name}: loading", total=None, rate="") for name in names}

    def __enter__(self) -> Self:
        self._progress.start()
        if not self._console.is_terminal:
            for name in self._tasks:
                self._console.print(f"{name}: loading", highlight=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, name: str, event: Event) -> None:
        """Show an event of a run."""
        task = self._tasks[name]
        if isinstance(event, Loaded):
            backend = ", ".join(event.kernels) or "no quantized kernels"
            if not event.engine_started:
                backend = "the engine starts when the journal lacks an answer"
            self._console.print(f"{name}: ready after {event.seconds:.0f} s; {backend}", highlight=False)
            self._progress.reset(task, description=f"{name}: answering", total=None)
        elif isinstance(event, Restarted):
            self._console.print(f"{name}: the engine died ({event.reason}); a new one goes on", highlight=False)
            self._progress.reset(task, description=f"{name}: loading", total=None)
        elif isinstance(event, Answered):
            speed = self._progress.tasks[task].speed
            rate = f"{speed:.1f} samples/s" if speed else ""
            self._progress.update(task, completed=event.done, total=event.total, rate=rate)
            self._tell_tenths(name, event)

    def _tell_tenths(self, name: str, event: Answered) -> None:
        tenth = 10 * event.done // event.total
        if not self._console.is_terminal and tenth > self._last_tenth[name]:
            self._last_tenth[name] = tenth
            self._console.print(f"{name}: {event.done} of {event.total} answered", highlight=False)


def outcome_table(outcomes: dict[str, RunOutcome], headlines: dict[str, str]) -> Table:
    """Scores of all runs, narrow enough for 80 columns.

    Args:
        outcomes: Name of a run to how it ended.
        headlines: Task to its headline metric; other tasks show all they have.
    """
    table = Table("run", "score", "answered", "journal", "samples/s", "outcome")
    for name, outcome in outcomes.items():
        scored = outcome.scored
        if scored is None:
            table.add_row(name, "", "", "", "", f"[red]failed ({outcome.exit_status})[/red]")
            continue
        rate = f"{scored.answered / scored.seconds:.1f}" if scored.answered and scored.seconds else ""
        lines = _score_lines(scored, headlines)
        table.add_row(name, lines, str(scored.answered), str(scored.from_journal), rate, "[green]done[/green]")
    return table


def _score_lines(scored: Scored, headlines: dict[str, str]) -> str:
    return "\n".join(
        f"{task} {metric} {value:.4f}"
        for task, scores in scored.scores.items()
        for metric, value in scores.items()
        if task not in headlines or metric == headlines[task]
    )
