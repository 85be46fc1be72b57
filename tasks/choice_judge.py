"""An optional language model that reads the multiple-choice answers which the grammar cannot.

Off by default. `TLIVE_JUDGE_URL` (an OpenAI-compatible server, up to and with `/v1`) and `TLIVE_JUDGE_MODEL` switch it
on; `TLIVE_JUDGE_KEY` is sent where it is set. Replies are kept in `TLIVE_JUDGE_CACHE` (by default a file in the user's
cache folder), so a run that is repeated asks nothing twice. A judge that fails, or replies anything but a letter or
"none", makes the sample an `error`: it is never a guess. Runs with and without a judge are not comparable; every judged
sample says `"rule": "judge"` in its record.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.metrics.circular_eval import RotationAnswer
from tliveomni_eval.evals.metrics.sample_score import SampleScore
from tliveomni_eval.evals.record import Counts

URL_VARIABLE, MODEL_VARIABLE = "TLIVE_JUDGE_URL", "TLIVE_JUDGE_MODEL"
KEY_VARIABLE, CACHE_VARIABLE = "TLIVE_JUDGE_KEY", "TLIVE_JUDGE_CACHE"
TIMEOUT_S = 60.0
_MAX_ANSWER_CHARS = 4000
_TASK = (
    "Below are a multiple-choice question, its options and somebody's answer. Which option does the answer choose? "
    "Do not solve the question. Reply with the option's letter alone, or with NONE if the answer chooses no option, or "
    "several.\n\n{question}\n\nAnswer: {answer}\n\nLetter or NONE:"
)


class JudgeError(Exception):
    """The judge gave no reply that can be used."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A model behind an OpenAI-compatible server.

    Attributes:
        url: Address of the server's API, e.g. `http://127.0.0.1:8000/v1`.
        model: Name of the model there.
        key: API key; servers on one's own machine mostly take any.
        cache: SQLite file of earlier replies.
    """

    url: str
    model: str
    key: str
    cache: Path

    def letter(self, question: str, answer: str, options: Mapping[str, str]) -> str | None:
        """The letter that an answer chooses, None where it chooses none.

        Args:
            question: Question and options as they were asked.
            answer: What the evaluated model said; its last 4,000 characters are judged.
            options: Letter to text.

        Raises:
            JudgeError: The server failed, or its reply is neither a letter of an option nor NONE.
        """
        request = _TASK.format(question=question, answer=answer[-_MAX_ANSWER_CHARS:])
        key = hashlib.sha256(f"{self.model}\0{request}".encode()).hexdigest()
        self.cache.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.cache, timeout=TIMEOUT_S)) as store, store:
            store.execute("CREATE TABLE IF NOT EXISTS reply (key TEXT PRIMARY KEY, text TEXT NOT NULL)")
            kept = store.execute("SELECT text FROM reply WHERE key = ?", (key,)).fetchone()
        reply = kept[0] if kept else self._ask(request)
        word = reply.strip().strip("().*\"' ").upper()
        if word != "NONE" and word not in options:
            raise JudgeError(f"the judge replied {reply[:60]!r}, which is no option")
        if not kept:
            with closing(sqlite3.connect(self.cache, timeout=TIMEOUT_S)) as store, store:
                store.execute("INSERT OR REPLACE INTO reply VALUES (?, ?)", (key, reply))
        return None if word == "NONE" else word

    def _ask(self, request: str) -> str:
        import openai

        try:
            with openai.OpenAI(base_url=self.url, api_key=self.key, timeout=TIMEOUT_S, max_retries=2) as client:
                completion = client.chat.completions.create(
                    model=self.model,
                    messages=[{"role": "user", "content": request}],
                    temperature=0,
                    max_tokens=8,
                )
        except openai.OpenAIError as error:
            raise JudgeError(f"{type(error).__name__}: {error}") from error
        text = completion.choices[0].message.content if completion.choices else None
        if not text:
            raise JudgeError("the judge replied nothing")
        return text


def configured_judge(environment: Mapping[str, str] = os.environ) -> Judge | None:
    """The judge that the environment names; None, the default, where it names none.

    Raises:
        UserError: It names a server but no model.
    """
    url, model = environment.get(URL_VARIABLE), environment.get(MODEL_VARIABLE)
    if not url:
        return None
    if not model:
        raise UserError(f"{URL_VARIABLE} is set, but {MODEL_VARIABLE} is not: name the model that judges")
    home = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = environment.get(CACHE_VARIABLE) or home / "tliveomni-eval" / "judge.sqlite"
    return Judge(url, model, environment.get(KEY_VARIABLE, "none"), Path(cache))


def judged(
    score: SampleScore, answer: RotationAnswer, question: str, output: str | None
) -> tuple[SampleScore, RotationAnswer]:
    """Ask the judge, where one is configured, about an answer that did not resolve.

    Args:
        score: Score of the answer.
        answer: The answer as it was read.
        question: Question and options as they were asked.
        output: What the model said.

    Returns:
        Both as they were, or as the judge read them; status `error` where the judge failed.
    """
    judge = configured_judge() if score.status == "unparsed" and output else None
    if judge is None or output is None:
        return score, answer
    try:
        letter = judge.letter(question, output, answer.options)
    except JudgeError as error:
        return replace(score, status="error", detail={**score.detail, "rule": "judge", "judge": str(error)}), answer
    if letter is None:
        return replace(score, detail={**score.detail, "rule": "judge"}), answer
    answer = replace(answer, chosen=letter)
    detail = {**score.detail, "chosen": letter, "rule": "judge"}
    return SampleScore({"accuracy": Counts(float(answer.hit), 1)}, "ok", detail), answer
