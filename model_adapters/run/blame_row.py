"""Deaths of an engine in a row, and the blame they put on samples: taken back where no answer came in between."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from tliveomni_eval.model_adapters.vllm_backend.engine_deaths import DEATHS_NAME
from tliveomni_eval.model_adapters.vllm_backend.response_journal import JOURNAL_NAME


class BlameRow:
    """Counts deaths since the last answer.

    Args:
        folder: The run folder.
    """

    def __init__(self, folder: Path) -> None:
        self._journal = folder / JOURNAL_NAME
        self._path = folder / DEATHS_NAME
        self._begin()

    def _begin(self) -> None:
        self._answers = self._count_answers()
        self._deaths = 0
        self._content = self._path.read_bytes() if self._path.exists() else None

    def deaths_in_a_row(self) -> int:
        """Note a death; how many there were since the last answer, this one included."""
        if self._count_answers() != self._answers:
            self._begin()
        self._deaths += 1
        return self._deaths

    def take_back(self) -> None:
        """Forget whom the deaths of this row blamed."""
        if self._content is None:
            self._path.unlink(missing_ok=True)
        else:
            self._path.write_bytes(self._content)

    def _count_answers(self) -> int:
        try:
            database = sqlite3.connect(f"file:{quote(str(self._journal.resolve()))}?mode=ro", uri=True, timeout=5)
            with closing(database):
                return int(database.execute("SELECT count(*) FROM responses").fetchone()[0])
        except sqlite3.Error:
            return 0
