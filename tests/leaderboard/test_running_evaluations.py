from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from synthetic_run import samples, with_noise, write_run
from tliveomni_eval.leaderboard.server.running_evaluations import running_evaluations


def begun(folder: Path, limit: float | None) -> None:
    run = write_run(folder, "w4a16", samples(4), with_noise(0))
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(info | {"end": None, "exit_status": None, "limit": limit}))


@pytest.mark.parametrize(
    ("limit", "sizes", "total"),
    [
        (None, {}, None),
        (None, {"live_ocr": 1500}, 1500),
        (500, {}, None),
        (500, {"live_ocr": 1500}, 500),
        (500, {"live_ocr": 200}, 200),
        (0.1, {"live_ocr": 1501}, 151),
        (0.1, {}, None),
    ],
)
def test_how_many_answers_are_to_come(
    tmp_path: Path, limit: float | None, sizes: dict[str, int], total: int | None
) -> None:
    begun(tmp_path, limit)
    (found,) = running_evaluations(tmp_path, 1000, sizes)
    assert (found.name, found.total, found.answered, found.idle_s) == ("w4a16", total, None, None)


def test_a_damaged_journal_shows_no_answers(tmp_path: Path) -> None:
    begun(tmp_path, None)
    (tmp_path / "w4a16" / "journal.sqlite").write_bytes(b"no database")
    assert running_evaluations(tmp_path, 0, {})[0].answered is None


def test_the_time_since_the_last_answer(tmp_path: Path) -> None:
    begun(tmp_path, None)
    with sqlite3.connect(tmp_path / "w4a16" / "journal.sqlite") as journal:
        journal.execute("CREATE TABLE responses (key TEXT, written_at REAL)")
        journal.executemany("INSERT INTO responses VALUES ('', ?)", [[900.0], [990.0]])
    assert running_evaluations(tmp_path, 1000, {})[0].idle_s == 10
    assert running_evaluations(tmp_path / "nothing", 0, {}) == []
